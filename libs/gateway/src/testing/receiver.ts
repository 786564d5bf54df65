import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WebhookPayload } from '@hangar/contracts';
import { eventually } from '@hangar/testing';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  payload: WebhookPayload;
}

type Behaviour = (response: ServerResponse, received: Received) => void;

/** Never answers; the request stays open until it is cut. */
export const hang: Behaviour = () => undefined;
export const answer =
  (status: number, headers: Record<string, string> = {}): Behaviour =>
  (response) =>
    response.writeHead(status, headers).end('thanks');

/** A receiver of webhooks on loopback; what it does can change between requests. */
export class Receiver {
  readonly received: Received[] = [];
  behave: Behaviour = answer(204);
  /** Requests that were open at the same time, at most. */
  openMax = 0;
  readonly #server: Server;
  #open = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<Receiver> {
    const server = createServer();
    const receiver = new Receiver(server);
    server.on('request', (request, response) => {
      receiver.#open += 1;
      receiver.openMax = Math.max(receiver.openMax, receiver.#open);
      response.on('close', () => (receiver.#open -= 1));
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString('utf8');
        const payload = JSON.parse(body) as WebhookPayload;
        const received = { path: request.url ?? '', headers: request.headers, body, payload };
        receiver.received.push(received);
        receiver.behave(response, received);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path = '/hook'): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  get types(): string[] {
    return this.received.map(({ payload }) => payload.type);
  }

  get ids(): string[] {
    return this.received.map(({ headers }) => String(headers['webhook-id']));
  }

  async gets(count: number): Promise<Received[]> {
    await eventually(() => this.received.length >= count, {
      what: `${count} requests, not ${this.received.length}`,
    });
    return this.received;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** As a receiver checks it (docs/formats/webhooks.md). */
export function isSigned({ headers, body }: Received, secret: string): boolean {
  const text = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const expected = createHmac('sha256', key).update(text).digest();
  return String(headers['webhook-signature'])
    .split(' ')
    .filter((one) => one.startsWith('v1,'))
    .map((one) => Buffer.from(one.slice('v1,'.length), 'base64'))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected));
}
