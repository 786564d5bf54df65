import { Readable } from 'node:stream';
import { HangarError, type sandboxData } from '@hangar/contracts';
import type { SandboxRef } from '../sandbox-driver.ts';

/** What the routes of the data plane share. */

/** What somebody does with a sandbox that is not one of hangar's own probes [X4]. */
export interface Activity {
  ref: SandboxRef;
  operation: 'exec' | 'terminals' | 'runs' | 'files';
  /** Both are told of everything, so that an open terminal can be counted. */
  phase: 'began' | 'ended';
}

/** Which sandbox a request means; `ended` tells the end of its activity. */
export type Observe = (
  target: sandboxData.Target | undefined,
  operation: Activity['operation'],
) => Promise<{ ref: SandboxRef; ended: () => void }>;

/** The first message of a stream; its absence is the caller's mistake. */
export const readFirst = async <T>(messages: AsyncIterator<T>): Promise<T> => {
  const first = await messages.next();
  if (first.done === true) throw new HangarError('invalid', 'The stream ended before it began.');
  return first.value;
};

export const toReadable = (chunks: AsyncIterable<Uint8Array>): Readable =>
  Readable.from(chunks, { objectMode: false });
