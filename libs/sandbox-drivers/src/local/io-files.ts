import { createHash } from 'node:crypto';
import { Transform } from 'node:stream';
import { HangarError } from '@hangar/contracts';
import type { SandboxFiles } from '../sandbox-driver.ts';
import { ask, goneError, lostToUnavailable, sendBody, type OpenStream } from './io-request.ts';
import {
  readHash,
  readPut,
  readSize,
  readStat,
  throwWireError,
  withDeadline,
} from './io-answers.ts';
import { CHANNEL, type MuxStream } from './wire/mux-stream.ts';

const FILE_MODE = 0o644;

export const createFiles = (open: OpenStream): SandboxFiles => ({
  async put(ref, path, body, options = {}) {
    options.signal?.throwIfAborted();
    const stream = await open(ref, { op: 'put', path, mode: options.mode ?? FILE_MODE });
    if (!stream) throw goneError(ref);
    const abort = (): void => stream.abandon();
    options.signal?.addEventListener('abort', abort);
    try {
      const sent = sendBody(stream, body).catch((error: unknown) => {
        stream.cancel();
        throw error;
      });
      const answered = stream.result.catch(lostToUnavailable).then((answer) => {
        throwWireError(answer);
        return readPut(answer);
      });
      return (await Promise.all([answered, sent]))[0];
    } catch (error) {
      options.signal?.throwIfAborted();
      throw error;
    } finally {
      options.signal?.removeEventListener('abort', abort);
    }
  },

  async get(ref, path, options = {}) {
    options.signal?.throwIfAborted();
    const stream = await open(ref, { op: 'get', path, from: options.from ?? 0 });
    if (!stream) throw goneError(ref);
    const first = Promise.race([
      new Promise<unknown>((resolve) => stream.onMessage(resolve)),
      stream.result,
    ]);
    const answer = await withDeadline(first.catch(lostToUnavailable), stream);
    throwWireError(answer);
    if ((answer as { absent?: unknown }).absent === true) return null;
    const size = readSize(answer);
    return { size, ...download(stream, size - (options.from ?? 0), options.signal) };
  },

  async stat(ref, path) {
    return readStat(await ask(open, ref, { op: 'stat', path }));
  },

  async remove(ref, path) {
    await ask(open, ref, { op: 'remove', path });
  },
});

/** The body ends only when length and hash are right; anything else is an error on it. */
const download = (
  stream: MuxStream,
  expectedBytes: number,
  signal: AbortSignal | undefined,
): { body: Transform; sha256: Promise<string> } => {
  const hash = createHash('sha256');
  let received = 0;
  const source = stream.readable(CHANNEL.out);
  const verified = Promise.withResolvers<string>();
  verified.promise.catch(() => undefined);
  const check = async (): Promise<string> => {
    const answer = await stream.result.catch(lostToUnavailable);
    throwWireError(answer);
    const sha256 = hash.digest('hex');
    if (received !== Math.max(expectedBytes, 0) || sha256 !== readHash(answer.sha256)) {
      throw new HangarError('unavailable', 'The download is not what the sandbox said it sent.');
    }
    return sha256;
  };
  const finish = async (callback: (error?: Error) => void): Promise<void> => {
    let failure: Error | undefined;
    try {
      verified.resolve(await check());
    } catch (error) {
      failure = HangarError.from(error);
    }
    callback(failure);
  };
  const body = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      received += chunk.length;
      hash.update(chunk);
      callback(null, chunk);
    },
    flush(callback) {
      void finish(callback);
    },
    destroy(error, callback) {
      verified.reject(
        error ?? new HangarError('unavailable', 'The download was not read to its end.'),
      );
      stream.cancel();
      source.destroy();
      callback(error);
    },
  });
  body.on('error', () => undefined);
  source.on('error', (error) => body.destroy(toUnavailable(error)));
  source.pipe(body);
  const abort = (): void => void body.destroy(toAbortError(signal));
  signal?.addEventListener('abort', abort);
  body.once('close', () => signal?.removeEventListener('abort', abort));
  return { body, sha256: verified.promise };
};

const toUnavailable = (cause: Error): HangarError =>
  new HangarError('unavailable', 'The connection to the sandbox was lost.', { cause });

const toAbortError = (signal: AbortSignal | undefined): Error =>
  signal?.reason instanceof Error ? signal.reason : new Error('aborted');
