import { HangarError } from '@hangar/contracts';
import type {
  ExitStatus,
  SandboxRef,
  SandboxTerminals,
  TerminalSize,
  TerminalView,
} from '../sandbox-driver.ts';
import {
  readTerminals,
  readTerminalSize,
  readView,
  throwWireError,
  withDeadline,
} from './io-answers.ts';
import { ask, goneError, lostToUnavailable, type OpenStream } from './io-request.ts';
import { CHANNEL, type Channel, type MuxStream } from './wire/mux-stream.ts';

export interface TerminalParts {
  open: OpenStream;
  awaitExit(ref: SandboxRef, stream: MuxStream, readers: Channel[]): Promise<ExitStatus>;
}

export const createTerminals = (parts: TerminalParts): SandboxTerminals => ({
  async open(ref, id, { argv, cwd, envVars, cols, rows }) {
    const process = { argv, cwd: cwd ?? null, envVars: envVars ?? {} };
    await ask(parts.open, ref, { op: 'terminalOpen', id, ...process, cols, rows });
  },
  attach: (ref, id, view, signal) => attach(parts, ref, id, view, signal),
  async list(ref) {
    return readTerminals(await ask(parts.open, ref, { op: 'terminalList' }));
  },
  async close(ref, id) {
    await ask(parts.open, ref, { op: 'terminalClose', id });
  },
});

const attach = async (
  parts: TerminalParts,
  ref: SandboxRef,
  id: string,
  { from, size }: { from: number; size: TerminalSize | null },
  signal?: AbortSignal,
): Promise<TerminalView> => {
  signal?.throwIfAborted();
  const { cols, rows } = size ?? { cols: null, rows: null };
  const stream = await parts.open(ref, { op: 'terminalAttach', id, from, cols, rows });
  if (!stream) throw goneError(ref);
  stream.reader(CHANNEL.out).endOnLoss();
  const giveUp = (): void => {
    stream.abandon();
    stream.readable(CHANNEL.out).destroy();
  };
  signal?.addEventListener('abort', giveUp);
  const begun = Promise.withResolvers<unknown>();
  const sizes = new Sizes();
  stream.onMessage((message) => {
    begun.resolve(message);
    sizes.next(message);
  });
  const answer = await withDeadline(
    Promise.race([begun.promise, stream.result.catch(lostToUnavailable)]),
    stream,
  );
  throwWireError(answer);
  const view = readView(answer);
  const exit = exitOf(parts, ref, stream)
    .catch(cutOff)
    .finally(() => signal?.removeEventListener('abort', giveUp));
  exit.catch(() => undefined);
  return {
    ...view,
    output: stream.readable(CHANNEL.out),
    exit,
    onResize: (listener) => sizes.listen(listener),
    async write(bytes) {
      await stream.write(CHANNEL.in, bytes);
    },
    resize(newCols, newRows) {
      stream.send({ cols: newCols, rows: newRows });
      return Promise.resolve();
    },
    async detach() {
      // What was typed before goes there first.
      stream.end(CHANNEL.in);
      // Nobody reads on; what is left in it must not hold up the exit.
      stream.readable(CHANNEL.out).destroy();
      await exit.catch(() => undefined);
    },
  };
};

/** One that left has heard of no exit. */
const exitOf = async (
  { awaitExit }: TerminalParts,
  ref: SandboxRef,
  stream: MuxStream,
): Promise<ExitStatus> => {
  const answer = await stream.result.catch(() => null);
  if (answer?.left === true) return { kind: 'connection_lost' };
  return awaitExit(ref, stream, [CHANNEL.out]);
};

/** A viewer that fell behind comes back, as one whose connection was lost does. */
const cutOff = (error: unknown): ExitStatus => {
  if (error instanceof HangarError && error.code === 'exhausted')
    return { kind: 'connection_lost' };
  throw error;
};

/** Sizes that come before somebody listens: the newest of them is the one that counts. */
class Sizes {
  private listener: ((size: TerminalSize) => void) | undefined;
  private newest: TerminalSize | undefined;
  private count = 0;

  next(message: unknown): void {
    const size = readTerminalSize(message);
    this.count += 1;
    // The first one is told with the view itself.
    if (this.count === 1) return;
    if (this.listener) this.listener(size);
    else this.newest = size;
  }

  listen(listener: (size: TerminalSize) => void): void {
    this.listener = listener;
    if (this.newest) listener(this.newest);
  }
}
