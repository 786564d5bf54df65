import { timingSafeEqual, createHash } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { Mux } from '../wire/mux.ts';
import type { MuxStream } from '../wire/mux-stream.ts';
import { PROTOCOL_VERSION, type Operation, type SandboxdConfig } from '../wire/protocol.ts';
import { serveExec } from './exec.ts';
import { serveGet, servePut, serveRemove, serveStat } from './files.ts';
import { OperationError } from './operation-error.ts';
import type { CredentialDesk } from './credential-desk.ts';
import type { Runs } from './runs.ts';
import type { Terminals } from './terminals.ts';

/** Connections at once; the agent can reach the socket too and must not use up all memory. */
const CONNECTIONS_MAX = 64;
/** A peer that connected has this long to say who it is. */
const HELLO_MS = 10_000;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** What outlives a connection. */
export interface Served {
  config: SandboxdConfig;
  runs: Runs;
  terminals: Terminals;
  desk: CredentialDesk;
}

/** Serves the protocol on a Unix socket; resolves when it listens. */
export const listen = (path: string, served: Served): Promise<void> => {
  const server = createServer((socket) => serveConnection(socket, served));
  server.maxConnections = CONNECTIONS_MAX;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
};

const serveConnection = (socket: Socket, served: Served): void => {
  const { config } = served;
  const timer = setTimeout(() => socket.destroy(), HELLO_MS);
  const mux: Mux = new Mux(socket, {
    hello(greeting) {
      clearTimeout(timer);
      const given = digest(String(greeting.token));
      if (!timingSafeEqual(given, digest(config.token))) throw new Error('token');
      mux.greet({ protocol: PROTOCOL_VERSION, instance: config.instance });
    },
    open(stream, header) {
      void serve(stream, header as Operation, served);
    },
    close: () => clearTimeout(timer),
  });
};

const serve = async (stream: MuxStream, operation: Operation, served: Served): Promise<void> => {
  try {
    await dispatch(stream, operation, served);
  } catch (error) {
    stream.finish({ error: OperationError.toWire(error) });
  }
};

const dispatch = (
  stream: MuxStream,
  operation: Operation,
  { config, runs, terminals, desk }: Served,
): Promise<void> => {
  switch (operation.op) {
    case 'exec':
      return serveExec(stream, operation, config);
    case 'terminalOpen':
      return terminals.open(stream, operation.id, operation);
    case 'terminalAttach':
      return terminals.attach(stream, operation.id, operation);
    case 'terminalList':
      return terminals.list(stream);
    case 'terminalClose':
      return terminals.close(stream, operation.id);
    case 'runStart':
      return runs.start(stream, operation.id, operation);
    case 'runFollow':
      return runs.follow(stream, operation.id, { out: operation.out, err: operation.err });
    case 'runInput':
      return runs.input(stream, operation.id, operation.key, operation.eof);
    case 'runKill':
      return runs.kill(stream, operation.id, operation.signal);
    case 'runStatus':
      return runs.status(stream, operation.id);
    case 'put':
      return servePut(stream, operation.path, operation.mode);
    case 'get':
      return serveGet(stream, operation.path, operation.from);
    case 'stat':
      return serveStat(stream, operation.path);
    case 'remove':
      return serveRemove(stream, operation.path);
    case 'credentials':
      return desk.serve(stream);
    default:
      throw new OperationError('invalid', 'an unknown operation');
  }
};
