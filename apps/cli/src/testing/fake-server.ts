import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  /** `POST /api/sessions/csv-fix/send`, with the query. */
  line: string;
  body: string;
  headers: Record<string, string | string[] | undefined>;
}

/** A document to answer with, or how to answer. */
export type Answer = object | ((response: ServerResponse, asked: Asked) => void);

export interface FakeServer {
  url: string;
  asked: Asked[];
  close(): Promise<void>;
}

/** Answers by `METHOD path` without the query; an array is answered one by one, the last for good. */
export async function startFakeServer(
  routes: Record<string, Answer | Answer[]>,
): Promise<FakeServer> {
  const asked: Asked[] = [];
  const used = new Map<string, number>();
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { line: `${method} ${url}`, body: Buffer.concat(pieces).toString(), headers };
      asked.push(one);
      const route = `${method} ${url.split('?', 1)[0]}`;
      const known = routes[route];
      const count = used.get(route) ?? 0;
      used.set(route, count + 1);
      const answer = Array.isArray(known) ? (known[count] ?? known.at(-1)) : known;
      if (typeof answer === 'function') answer(response, one);
      else if (answer) document(200, answer)(response);
      else problem(404, 'not_found', `There is no ${route}.`)(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export const document =
  (status: number, value: object) =>
  (response: ServerResponse): void => {
    response.writeHead(status, {
      'content-type': 'application/json',
      date: 'Mon, 12 Oct 2026 08:30:00 GMT',
    });
    response.end(JSON.stringify(value));
  };

export const problem =
  (status: number, code: string, detail: string, hint?: string) =>
  (response: ServerResponse): void =>
    document(status, { type: 'about:blank', title: code, status, code, detail, hint })(response);

export const bytes =
  (text: string) =>
  (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    response.end(text);
  };

export const nothing = (response: ServerResponse): void => {
  response.writeHead(204);
  response.end();
};

/** Live activity from item to item; `delta` is told to whoever is there. Stays open after these. */
export const activityStream =
  (moments: ({ cursor: string; type: string } | { turn: number; delta: string })[]) =>
  (response: ServerResponse, { headers }: Asked): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const last = moments.findIndex(
      (moment) => 'cursor' in moment && moment.cursor === headers['last-event-id'],
    );
    response.write(': open\n\n');
    for (const moment of moments.slice(last + 1)) {
      const head =
        'cursor' in moment ? `id: ${moment.cursor}\nevent: ${moment.type}` : 'event: delta';
      response.write(`${head}\ndata: ${JSON.stringify(moment)}\n\n`);
    }
  };

/** An event stream that stays open after these. */
export const stream =
  (events: { version: number }[]) =>
  (response: ServerResponse, { headers }: Asked): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const after = Number(headers['last-event-id'] ?? 0);
    response.write(': open\n\n');
    for (const event of events.filter(({ version }) => version > after)) {
      response.write(`id: ${event.version}\ndata: ${JSON.stringify(event)}\n\n`);
    }
  };
