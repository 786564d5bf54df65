import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { create } from '@bufbuild/protobuf';
import { HangarError, sandboxData } from '@hangar/contracts';
import type { SandboxFiles } from '../sandbox-driver.ts';
import { CHUNK_BYTES_MAX } from './output-streams.ts';
import { call, UNARY, type DataClient, type ToTarget } from './data-client.ts';
import { fromStat, toHangarError } from './wire-values.ts';

export const createRemoteFiles = (client: DataClient, toTarget: ToTarget): SandboxFiles => ({
  async put(ref, path, body, options = {}) {
    options.signal?.throwIfAborted();
    const { mode, signal } = options;
    const start = create(sandboxData.PutFileStartSchema, {
      target: toTarget(ref),
      path,
      ...(mode === undefined ? {} : { mode }),
    });
    const source: { error?: unknown } = {};
    try {
      const upload = uploadFrames(start, body, source);
      const { size, sha256 } = await client.putFile(upload, signal ? { signal } : {});
      return { size: Number(size), sha256 };
    } catch (error) {
      signal?.throwIfAborted();
      // What the source threw is the reason, and not how the transport took it.
      throw source.error ?? toHangarError(error);
    }
  },

  async get(ref, path, options = {}) {
    options.signal?.throwIfAborted();
    const { from = 0, signal } = options;
    const aborter = new AbortController();
    const merged = signal ? AbortSignal.any([signal, aborter.signal]) : aborter.signal;
    const request = { target: toTarget(ref), path, from: BigInt(from) };
    const frames = client.getFile(request, { signal: merged })[Symbol.asyncIterator]();
    const first = await call(frames.next());
    const frame = first.done === true ? undefined : first.value.frame;
    if (frame?.case === 'absent') return null;
    if (frame?.case !== 'size') throw cutOff();
    const size = Number(frame.value);
    const verified = Promise.withResolvers<string>();
    verified.promise.catch(() => undefined);
    const chunks = downloadChunks(frames, Math.max(size - from, 0), verified, signal);
    const body = Readable.from(chunks, { objectMode: false, highWaterMark: CHUNK_BYTES_MAX });
    body.on('error', () => undefined);
    body.once('close', () => {
      aborter.abort();
      verified.reject(new HangarError('unavailable', 'The download was not read to its end.'));
    });
    return { size, body, sha256: verified.promise };
  },

  async stat(ref, path) {
    return fromStat(await call(client.statFile({ target: toTarget(ref), path }, UNARY)));
  },

  async remove(ref, path) {
    await call(client.removeFile({ target: toTarget(ref), path }, UNARY));
  },
});

const cutOff = (): HangarError =>
  new HangarError('unavailable', 'The download is not what the service said it sent.');

async function* uploadFrames(
  start: sandboxData.PutFileStart,
  body: Readable | Uint8Array,
  source: { error?: unknown },
): AsyncGenerator<sandboxData.PutFileRequest> {
  const wrap = (frame: sandboxData.PutFileRequest['frame']): sandboxData.PutFileRequest =>
    create(sandboxData.PutFileRequestSchema, { frame });
  yield wrap({ case: 'start', value: start });
  const hash = createHash('sha256');
  let size = 0;
  try {
    for await (const chunk of body instanceof Readable ? body : [body]) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Uint8Array);
      hash.update(bytes);
      size += bytes.length;
      for (let offset = 0; offset < bytes.length; offset += CHUNK_BYTES_MAX) {
        const value = bytes.subarray(offset, offset + CHUNK_BYTES_MAX);
        yield wrap({ case: 'chunk', value });
      }
    }
  } catch (error) {
    source.error = error;
    throw error;
  }
  const end = create(sandboxData.PutFileEndSchema, {
    size: BigInt(size),
    sha256: hash.digest('hex'),
  });
  yield wrap({ case: 'end', value: end });
}

/** The bytes of a download; fails at the end unless all of them came, unchanged. */
async function* downloadChunks(
  frames: AsyncIterator<sandboxData.GetFileResponse>,
  expectedBytes: number,
  verified: PromiseWithResolvers<string>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let received = 0;
  try {
    for (let next = await frames.next(); next.done !== true; next = await frames.next()) {
      const { frame } = next.value;
      if (frame.case === 'chunk') {
        hash.update(frame.value);
        received += frame.value.length;
        yield frame.value;
      } else if (frame.case === 'sha256') {
        const sha256 = hash.digest('hex');
        if (received !== expectedBytes || sha256 !== frame.value) throw cutOff();
        verified.resolve(sha256);
        return;
      }
    }
    throw cutOff();
  } catch (error) {
    signal?.throwIfAborted();
    throw toHangarError(error);
  }
}
