import type { Readable } from 'node:stream';
import { create } from '@bufbuild/protobuf';
import { sandboxData } from '@hangar/contracts';
import { createChannelReader, SendCredit, type ChannelReader } from '../local/wire/channel.ts';
import type { ExitStatus } from '../sandbox-driver.ts';
import type { Outbox } from './outbox.ts';
import { findHangarError, fromExit, toExit } from './wire-values.ts';

/**
 * stdout and stderr over one stream of messages. Each has its own credit, so that one which
 * nobody reads does not hold up the other. `exec` and `run follow` share this.
 */

/** Bytes in one message. */
export const CHUNK_BYTES_MAX = 64 * 1024;

/** The part of ExecResponse and RunFollowResponse that is the same. */
export type OutputFrame =
  | { case: 'started'; value: boolean }
  | { case: 'stdout'; value: Uint8Array }
  | { case: 'stderr'; value: Uint8Array }
  | { case: 'stdoutEnd'; value: boolean }
  | { case: 'stderrEnd'; value: boolean }
  | { case: 'exit'; value: sandboxData.Exit };

export interface Output {
  stdout: Readable;
  stderr: Readable;
  exit: Promise<ExitStatus>;
}

/** Serving side: what the reader at the other end may still take. */
export class OutputCredit {
  readonly out = new SendCredit();
  readonly err = new SendCredit();

  give(credit: sandboxData.Credit): void {
    if (credit.outBytes > 0) this.out.give(credit.outBytes);
    if (credit.errBytes > 0) this.err.give(credit.errBytes);
  }

  close(): void {
    this.out.close();
    this.err.close();
  }
}

/** Serving side: sends an output to its end, then its exit. */
export const sendOutput = async (
  output: Output,
  credit: OutputCredit,
  outbox: Outbox<OutputFrame>,
): Promise<void> => {
  outbox.send({ case: 'started', value: true });
  await Promise.all([
    pump(output.stdout, credit.out, async (value) => outbox.push({ case: 'stdout', value })),
    pump(output.stderr, credit.err, async (value) => outbox.push({ case: 'stderr', value })),
  ]);
  const exit = create(sandboxData.ExitSchema, toExit(await output.exit));
  outbox.send({ case: 'exit', value: exit });
  outbox.end();
};

const pump = async (
  source: Readable,
  credit: SendCredit,
  push: (chunk: Uint8Array) => Promise<boolean>,
): Promise<void> => {
  for await (const chunk of source) {
    const bytes = chunk as Buffer;
    for (let offset = 0; offset < bytes.length;) {
      const allowed = await credit.take(Math.min(CHUNK_BYTES_MAX, bytes.length - offset));
      // The reader went away; the rest has nobody to go to.
      if (allowed === 0 || !(await push(bytes.subarray(offset, offset + allowed)))) return;
      offset += allowed;
    }
  }
};

/** Receiving side: the readers, and what fills them. */
export const receiveOutput = (
  frames: AsyncIterator<OutputFrame>,
  grant: (credit: { outBytes?: number; errBytes?: number }) => void,
): Output => {
  const out = createChannelReader((outBytes) => grant({ outBytes }));
  const err = createChannelReader((errBytes) => grant({ errBytes }));
  const exit = collect(frames, out, err);
  exit.catch(() => undefined);
  return { stdout: out.readable, stderr: err.readable, exit };
};

const collect = async (
  frames: AsyncIterator<OutputFrame>,
  out: ChannelReader,
  err: ChannelReader,
): Promise<ExitStatus> => {
  let exit: ExitStatus = { kind: 'connection_lost' };
  try {
    for (let next = await frames.next(); next.done !== true; next = await frames.next()) {
      const frame = next.value;
      if (frame.case === 'exit') exit = fromExit(frame.value);
      else if (!accept(frame, out, err)) break;
    }
  } catch (error) {
    const said = findHangarError(error);
    if (said) throw said;
  } finally {
    out.end();
    err.end();
  }
  await Promise.all([out.drained, err.drained]);
  return exit;
};

/** False when the service sent more than it had credit for. */
const accept = (frame: OutputFrame, out: ChannelReader, err: ChannelReader): boolean => {
  if (frame.case === 'stdout') return out.receive(asBuffer(frame.value));
  if (frame.case === 'stderr') return err.receive(asBuffer(frame.value));
  if (frame.case === 'stdoutEnd') out.end();
  if (frame.case === 'stderrEnd') err.end();
  return true;
};

/** The same bytes, not a copy. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
