/**
 * A model server for tests: it speaks four APIs of three providers, does what a script says (script.ts),
 * and shows what it was asked. Loopback only; keeps bounded memory; knows nothing of a model.
 *
 *   GET  /_requests?at_least=N&timeout_ms=M   the requests; waits until N have arrived
 *   POST /_script   [[ ... ]] or plain steps   queued steps go before any script in a prompt
 *   POST /_auth     {"key": "k", "ok": false}  that key (or "*") is answered 401
 *   POST /_gate     {"hold": true}             replies wait until {"hold": false}
 *   POST /_reset                               forgets requests, queue, keys, gate and attempts
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Api } from './conversation.ts';
import { reply } from './model-reply.ts';
import { ModelState } from './model-state.ts';
import type { LoggedRequest } from './request-log.ts';
import { sendJson } from './reply-writer.ts';

/** Largest request body: 64 MiB. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
/** Longest wait of one GET /_requests. */
const POLL_MILLISECONDS_MAX = 60_000;

export interface ModelServer {
  /** `http://127.0.0.1:PORT`, without a path. */
  url: string;
  port: number;
  requests(): LoggedRequest[];
  /** Resolves when a kept request matches; rejects after the time-out with what was there. */
  waitFor(
    match: (request: LoggedRequest) => boolean,
    timeoutMilliseconds?: number,
  ): Promise<LoggedRequest>;
  queue(script: string): void;
  setKey(key: string, isAccepted: boolean): void;
  hold(isHeld: boolean): void;
  reset(): void;
  close(): Promise<void>;
}

export async function startModelServer(options: { port?: number } = {}): Promise<ModelServer> {
  const state = new ModelState();
  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    handle(state, request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: { message: String(error), type: 'server_error' } });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests: () => state.log.list(),
    waitFor: (match, timeoutMilliseconds = 20_000) => waitFor(state, match, timeoutMilliseconds),
    queue: (script) => state.queue(script),
    setKey: (key, isAccepted) => state.setKey(key, isAccepted),
    hold: (isHeld) => state.hold(isHeld),
    reset: () => state.reset(),
    close: () => close(state, server),
  };
}

async function waitFor(
  state: ModelState,
  match: (request: LoggedRequest) => boolean,
  timeoutMilliseconds: number,
): Promise<LoggedRequest> {
  await state.log.until(() => state.log.list().some(match), timeoutMilliseconds);
  const found = state.log.list().find(match);
  if (found) return found;
  const seen = state.log.list().map(({ api, path, status }) => `${api} ${path} ${status}`);
  throw new Error(`no such request within ${timeoutMilliseconds} ms; seen: ${seen.join(', ')}`);
}

async function close(state: ModelState, server: Server): Promise<void> {
  state.hold(false);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

async function handle(
  state: ModelState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const body = await readBody(request);
  if (url.pathname.startsWith('/_')) return control(state, url, body, response);
  if (url.pathname.endsWith('/count_tokens')) return sendJson(response, 200, { input_tokens: 10 });
  if (url.pathname.endsWith('/models')) {
    return sendJson(response, 200, { object: 'list', data: [], models: [] });
  }
  if (url.pathname.endsWith(':countTokens')) return sendJson(response, 200, { totalTokens: 10 });
  const api = apiOf(url.pathname);
  if (api && request.method === 'POST') return reply(state, api, url, request, body, response);
  sendJson(response, 404, { error: { type: 'not_found_error', message: `no ${url.pathname}` } });
}

function apiOf(path: string): Api | null {
  if (path.endsWith('/messages')) return 'anthropic';
  if (path.endsWith('/responses')) return 'openai-responses';
  if (/:(?:streamGenerateContent|generateContent)$/.test(path)) return 'google';
  return path.endsWith('/chat/completions') ? 'openai-chat' : null;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new Error(`a body has at most ${BODY_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function control(
  state: ModelState,
  url: URL,
  body: string,
  response: ServerResponse,
): Promise<void> {
  switch (url.pathname) {
    case '/_requests': {
      const atLeast = Number(url.searchParams.get('at_least') ?? 0);
      const asked = Number(url.searchParams.get('timeout_ms') ?? 20_000);
      const isMet = (): boolean => state.log.list().length >= atLeast;
      await state.log.until(isMet, Math.min(asked, POLL_MILLISECONDS_MAX));
      return sendJson(response, 200, { count: state.log.count, requests: state.log.list() });
    }
    case '/_script':
      state.queue(body);
      return sendJson(response, 200, { ok: true });
    case '/_auth': {
      const { key = '*', ok = true } = JSON.parse(body) as { key?: string; ok?: boolean };
      state.setKey(key, ok);
      return sendJson(response, 200, { ok: true });
    }
    case '/_gate':
      if (body !== '') state.hold((JSON.parse(body) as { hold?: boolean }).hold === true);
      return sendJson(response, 200, { hold: state.isHeld });
    case '/_reset':
      state.reset();
      return sendJson(response, 200, { ok: true });
    default:
      return sendJson(response, 404, { error: { message: `no control ${url.pathname}` } });
  }
}
