import { Readable } from 'node:stream';
import { HangarError } from '@hangar/contracts';
import type {
  DetachedRuns,
  ExecRequest,
  ExecStream,
  ExitStatus,
  RunFollow,
  RunRequest,
  SandboxDriver,
  SandboxFiles,
  SandboxIo,
  SandboxRef,
} from '../sandbox-driver.ts';
import { serveCredentials } from './io-credentials.ts';
import { createFiles } from './io-files.ts';
import { createTerminals } from './io-terminals.ts';
import { readExit, readStatus, throwWireError, withDeadline } from './io-answers.ts';
import { ask, sendBody, type OpenStream } from './io-request.ts';
import { STREAMS_MAX, type Mux } from './wire/mux.ts';
import { CHANNEL, ConnectionLost, type MuxStream } from './wire/mux-stream.ts';
import { INPUT_BYTES_MAX, type Operation } from './wire/protocol.ts';

/** How the data plane gets at sandboxes; `null` is one that is gone. */
export interface Connections {
  connect(ref: SandboxRef): Promise<Mux | null>;
  /** After a lost connection: is the sandbox still there? */
  isGone(ref: SandboxRef): Promise<boolean>;
}

/** The data plane of every driver that has a sandboxd. */
export const createSandboxIo = (
  connections: Connections,
): SandboxIo & Pick<SandboxDriver, 'serveCredentials'> => {
  const open: OpenStream = async (ref, operation) => {
    const mux = await connections.connect(ref);
    if (mux && mux.streamCount >= STREAMS_MAX) {
      throw new HangarError('exhausted', `${STREAMS_MAX} operations go on in sandbox ${ref.id}.`);
    }
    return mux ? openStream(mux, operation) : null;
  };
  return {
    exec: (ref, request) => startExec(connections, open, ref, request),
    terminals: createTerminals({
      open,
      awaitExit: (ref, stream, readers) => awaitExit(connections, ref, stream, readers),
    }),
    runs: createRuns(connections, open),
    files: createFiles(open) satisfies SandboxFiles,
    serveCredentials: (ref, answer, signal) => serveCredentials(open, ref, answer, signal),
  };
};

const openStream = (mux: Mux, operation: Operation): MuxStream => {
  try {
    return mux.open({ ...operation });
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new HangarError('invalid', 'The arguments and environment variables are too long.', {
      cause,
    });
  }
};

const empty = (): Readable => Readable.from([]);

/** Waits for the message that says the operation began, or for a result that came instead. */
const begun = (stream: MuxStream): Promise<unknown> =>
  withDeadline(
    Promise.race([new Promise((resolve) => stream.onMessage(resolve)), stream.result]).catch(
      (error: unknown) => {
        if (!(error instanceof ConnectionLost)) throw error;
      },
    ),
    stream,
  );

/** The exit of a stream: what sandboxd said, or why nothing was said. Resolves after the readers. */
const awaitExit = async (
  connections: Connections,
  ref: SandboxRef,
  stream: MuxStream,
  readers: (typeof CHANNEL)[keyof typeof CHANNEL][],
): Promise<ExitStatus> => {
  let exit: ExitStatus;
  try {
    exit = readExit(await stream.result);
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
    exit = { kind: (await connections.isGone(ref)) ? 'sandbox_gone' : 'connection_lost' };
  }
  await Promise.all(readers.map((channel) => stream.reader(channel).drained));
  return exit;
};

const startExec = async (
  connections: Connections,
  open: OpenStream,
  ref: SandboxRef,
  request: ExecRequest,
): Promise<ExecStream> => {
  request.signal?.throwIfAborted();
  const stream = await open(ref, {
    op: 'exec',
    argv: request.argv,
    cwd: request.cwd ?? null,
    envVars: request.envVars ?? {},
    timeoutMs: request.timeoutMs ?? null,
  });
  if (!stream) {
    const exit = Promise.resolve<ExitStatus>({ kind: 'sandbox_gone' });
    return { stdout: empty(), stderr: empty(), exit, kill: () => Promise.resolve() };
  }
  stream.reader(CHANNEL.out).endOnLoss();
  stream.reader(CHANNEL.err).endOnLoss();
  throwWireError(await begun(stream));
  const kill = (signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> => {
    stream.send({ signal });
    return Promise.resolve();
  };
  const abort = (): void => void kill('SIGKILL');
  request.signal?.addEventListener('abort', abort);
  if (request.signal?.aborted) abort();
  // A source that fails cannot be told from one that ended, except by ending the command.
  void sendBody(stream, request.stdin ?? new Uint8Array()).catch(() => kill('SIGKILL'));
  const exit = awaitExit(connections, ref, stream, [CHANNEL.out, CHANNEL.err]).finally(() =>
    request.signal?.removeEventListener('abort', abort),
  );
  exit.catch(() => undefined);
  return { stdout: stream.readable(CHANNEL.out), stderr: stream.readable(CHANNEL.err), exit, kill };
};

const createRuns = (connections: Connections, open: OpenStream): DetachedRuns => ({
  async start(ref, id, run: RunRequest) {
    const { argv, cwd, envVars } = run;
    const stdin = run.stdin ?? new Uint8Array();
    if (stdin.length > INPUT_BYTES_MAX) throw tooLong();
    await ask(open, ref, { op: 'runStart', id, argv, cwd, envVars }, stdin);
  },
  async follow(ref, id, from, signal): Promise<RunFollow> {
    signal?.throwIfAborted();
    const stream = await open(ref, { op: 'runFollow', id, ...from });
    if (!stream) {
      const exit = Promise.resolve<ExitStatus>({ kind: 'sandbox_gone' });
      return { stdout: empty(), stderr: empty(), exit };
    }
    stream.reader(CHANNEL.out).endOnLoss();
    stream.reader(CHANNEL.err).endOnLoss();
    const abort = (): void => {
      stream.abandon();
      // Nobody reads on; what is left in them must not hold up the exit.
      stream.readable(CHANNEL.out).destroy();
      stream.readable(CHANNEL.err).destroy();
    };
    signal?.addEventListener('abort', abort);
    throwWireError(await begun(stream));
    const exit = awaitExit(connections, ref, stream, [CHANNEL.out, CHANNEL.err]).finally(() =>
      signal?.removeEventListener('abort', abort),
    );
    exit.catch(() => undefined);
    return { stdout: stream.readable(CHANNEL.out), stderr: stream.readable(CHANNEL.err), exit };
  },
  async input(ref, id, key, chunk) {
    const eof = chunk === 'eof';
    const bytes = eof ? new Uint8Array() : chunk;
    if (bytes.length > INPUT_BYTES_MAX) throw tooLong();
    await ask(open, ref, { op: 'runInput', id, key, eof }, bytes);
  },
  async kill(ref, id, signal) {
    await ask(open, ref, { op: 'runKill', id, signal });
  },
  async status(ref, id) {
    return readStatus(await ask(open, ref, { op: 'runStatus', id }));
  },
});

const tooLong = (): HangarError =>
  new HangarError('invalid', `A run takes at most ${INPUT_BYTES_MAX} bytes of input at once.`);
