import { open } from 'node:fs/promises';
import { FRAME_DATA_BYTES_MAX } from '../wire/frames.ts';
import { CHANNEL, type Channel, type MuxStream } from '../wire/mux-stream.ts';
import type { Run } from './run.ts';

/** Sends output from the asked offsets as it grows, and the exit once all of it was sent. */
export const followRun = async (
  stream: MuxStream,
  run: Run,
  from: { out: number; err: number },
): Promise<void> => {
  stream.cancelled.addEventListener('abort', () => run.changes.wake());
  stream.send({ following: true });
  await Promise.all([
    tail(stream, run, CHANNEL.out, from.out),
    tail(stream, run, CHANNEL.err, from.err),
  ]);
  if (run.end) stream.finish({ exit: run.end.exit });
  else stream.finish({ error: { code: 'unavailable', detail: 'the follower gave up' } });
};

const tail = async (stream: MuxStream, run: Run, channel: Channel, from: number): Promise<void> => {
  const isOut = channel === CHANNEL.out;
  const file = await open(isOut ? run.directory.out : run.directory.err, 'r');
  try {
    let position = from;
    while (!stream.cancelled.aborted) {
      const seen = run.changes.version;
      // Bytes that a left-over child appends after the end are not the run's.
      const { end } = run;
      const limit = end ? (isOut ? end.outBytes : end.errBytes) : Infinity;
      const wanted = Math.min(FRAME_DATA_BYTES_MAX, limit - position);
      const chunk = Buffer.allocUnsafe(Math.max(wanted, 0));
      const bytesRead = wanted > 0 ? (await file.read(chunk, 0, wanted, position)).bytesRead : 0;
      if (bytesRead > 0) {
        position += bytesRead;
        if (!(await stream.write(channel, chunk.subarray(0, bytesRead)))) return;
      } else if (end) {
        return stream.end(channel);
      } else {
        await run.changes.after(seen);
      }
    }
  } finally {
    await file.close();
  }
};
