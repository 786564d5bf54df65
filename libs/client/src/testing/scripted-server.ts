import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export type Step = (answer: ServerResponse, seen: Seen) => void;

export interface ScriptedServer {
  url: string;
  /** Requests so far, in order. */
  seen: Seen[];
  close(): Promise<void>;
}

/** A server that answers its nth request by the nth step; the last one answers the rest. */
export async function startScriptedServer(...steps: Step[]): Promise<ScriptedServer> {
  const seen: Seen[] = [];
  const server: Server = createServer((request, answer) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body: Buffer.concat(pieces).toString('utf8') };
      seen.push(one);
      (steps[seen.length - 1] ?? steps.at(-1))?.(answer, one);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export const json =
  (status: number, value: unknown, headers: Record<string, string> = {}): Step =>
  (answer) => {
    answer.writeHead(status, { 'content-type': 'application/json', ...headers });
    answer.end(JSON.stringify(value));
  };

export const problem = (status: number, code: string, detail: string, hint?: string): Step =>
  json(status, { type: 'about:blank', title: code, status, code, detail, hint });

/** Ends the connection without an answer. */
export const hangUp: Step = (answer) => {
  answer.destroy();
};

/** Writes the pieces of an event stream, then ends it, breaks it or leaves it open. */
export const events =
  (pieces: string[], then: 'end' | 'break' | 'stay'): Step =>
  (answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) answer.write(piece);
    if (then === 'end') answer.end();
    // After the write is out, so that what was sent still arrives.
    else if (then === 'break') answer.write(': last\n', () => answer.destroy());
  };
