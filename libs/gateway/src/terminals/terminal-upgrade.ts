import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  attachTerminalQuerySchema,
  HangarError,
  TERMINAL_MESSAGE_BYTES_MAX,
  TERMINAL_PROTOCOL,
  TERMINAL_SOCKETS_MAX,
  TERMINAL_TOKEN_PREFIX,
  type Scope,
} from '@hangar/contracts';
import { allows, invalidBody, toProblem, type Principal } from '@hangar/service-kit';
import { WebSocketServer, type WebSocket } from 'ws';
import { bearerOf, type TokenResolver } from '../auth/access.guard.ts';
import { serveTerminal } from './terminal-socket.ts';
import type { TerminalsService } from './terminals.service.ts';

/** Who may look may also type. */
export const ATTACH_SCOPE: Scope = 'write';

/** A viewer that was told of the gateway's end has this long to go. */
const CLOSE_MS = 1000;
/** Codes of WebSocket closes: a restart, and from 4000 on the status of the problem. */
const CLOSE_RESTART = 1012;
const CLOSE_PROBLEM = 4000;

const PATH = /^\/api\/sessions\/([^/]+)\/terminals\/([^/]+)\/attach$/;

export interface TerminalSockets {
  close(): Promise<void>;
}

/**
 * Upgrades to a WebSocket pass by Nest's routes and their guard, so that what the guard does is done
 * here: who calls, may they, is the request one that is known. A browser shows its page nothing of
 * a refused upgrade; so a problem is told in a frame, behind an upgrade that was accepted.
 */
export function serveTerminals(
  server: Server,
  parts: { tokens: TokenResolver; terminals: TerminalsService; heartbeatMs?: number },
): TerminalSockets {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: TERMINAL_MESSAGE_BYTES_MAX,
    handleProtocols: (offered) => (offered.has(TERMINAL_PROTOCOL) ? TERMINAL_PROTOCOL : false),
  });
  const serve = async (socket: WebSocket, request: IncomingMessage): Promise<void> => {
    socket.on('error', () => undefined);
    // What comes before its terminal is there waits in the connection.
    socket.pause();
    try {
      const token = tokenOf(request);
      const isAllowed = async (): Promise<Principal> => requireAccess(token, parts.tokens);
      const { owner } = await isAllowed();
      const { ref, id, query } = askedOf(request);
      const view = await parts.terminals.attach(owner, ref, id, query);
      const { heartbeatMs } = parts;
      const from = query.from ?? 0;
      await serveTerminal(socket, view, { from, isAllowed, ...(heartbeatMs && { heartbeatMs }) });
    } catch (error) {
      tellProblem(socket, error, request.url ?? '');
    }
  };
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const refused = refusalOf(request, sockets.clients.size);
    if (refused) return refuse(socket, refused);
    sockets.handleUpgrade(request, socket, head, (open) => void serve(open, request));
  });
  return {
    async close() {
      const all = [...sockets.clients];
      const ended = all.map((each) => new Promise((resolve) => each.once('close', resolve)));
      for (const each of all) each.close(CLOSE_RESTART, 'the gateway goes; come back');
      const timer = setTimeout(() => all.forEach((each) => each.terminate()), CLOSE_MS);
      await Promise.all(ended);
      clearTimeout(timer);
    },
  };
}

const pathOf = (request: IncomingMessage): string => (request.url ?? '').split('?', 1)[0] ?? '';

function refusalOf(request: IncomingMessage, open: number): string | null {
  if (!PATH.test(pathOf(request))) return '404 Not Found';
  if (!isOwnOrigin(request)) return '403 Forbidden';
  return open >= TERMINAL_SOCKETS_MAX ? '503 Service Unavailable' : null;
}

/** Pages of other sites have no business here; what is no browser sends no origin. */
function isOwnOrigin({ headers }: IncomingMessage): boolean {
  if (headers.origin === undefined) return true;
  try {
    return new URL(headers.origin).host === headers.host;
  } catch {
    return false;
  }
}

function refuse(socket: Duplex, status: string): void {
  socket.on('error', () => undefined);
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

function tokenOf({ headers }: IncomingMessage): string | null {
  const bearer = bearerOf(headers.authorization);
  if (bearer !== null) return bearer;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
  const carrier = offered.find((each) => each.startsWith(TERMINAL_TOKEN_PREFIX));
  try {
    return carrier ? decodeURIComponent(carrier.slice(TERMINAL_TOKEN_PREFIX.length)) : null;
  } catch {
    return null;
  }
}

async function requireAccess(token: string | null, tokens: TokenResolver): Promise<Principal> {
  const principal = token === null ? null : await tokens.resolve(token);
  if (!principal) {
    throw new HangarError('unauthenticated', 'This needs an access token that is valid.', {
      hint: `Send it as Authorization: Bearer, or as the subprotocol ${TERMINAL_TOKEN_PREFIX}<token>.`,
    });
  }
  if (allows(principal, ATTACH_SCOPE)) return principal;
  throw new HangarError('forbidden', `This needs a token with the scope ${ATTACH_SCOPE}.`, {
    hint: `This token has: ${principal.scopes.join(', ')}. Ask an admin for another one.`,
  });
}

function askedOf(request: IncomingMessage) {
  const [, ref = '', id = ''] = PATH.exec(pathOf(request)) ?? [];
  const asked = new URL(request.url ?? '', 'http://localhost').searchParams;
  const query = attachTerminalQuerySchema.safeParse(Object.fromEntries(asked));
  if (!query.success) throw invalidBody(query.error.issues);
  return { ref: decodeURIComponent(ref), id: decodeURIComponent(id), query: query.data };
}

function tellProblem(socket: WebSocket, error: unknown, path: string): void {
  const problem = toProblem(error, { path, requestId: randomUUID() });
  socket.resume();
  socket.send(JSON.stringify({ type: 'error', problem }));
  socket.close(CLOSE_PROBLEM + problem.status, problem.code);
}
