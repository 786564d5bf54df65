import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import * as zlib from 'node:zlib';
import { ArchiveRefused } from './archive-refused.ts';
import { checkTar, type TarRules, type TarSummary } from './tar-check.ts';
import type { TarEntry } from './tar-headers.ts';

/** What each tar part may hold (R10). Used by the control plane and again inside the sandbox. */
export type TarPartName = 'agent.tgz' | 'untracked.tgz' | 'nested' | 'lfs';
export type StoredCodec = 'none' | 'gzip' | 'zstd';

export function rulesOf(
  part: TarPartName,
  options: { conversationDirectories: readonly string[]; unpackedBytesMax: number },
): TarRules {
  const { unpackedBytesMax } = options;
  switch (part) {
    case 'agent.tgz':
      return { prefixes: options.conversationDirectories, unpackedBytesMax };
    case 'lfs':
      return { prefixes: ['lfs/objects'], unpackedBytesMax };
    case 'nested':
      return { gitAllowed: true, unpackedBytesMax };
    case 'untracked.tgz':
      return { unpackedBytesMax };
  }
}

/** Names and magic decide; a codec in meta.json is only a claim. */
const GZIP_MAGIC = 0x1f8b;
const ZSTD_MAGIC = 0x28b52ffd;

export function codecOf(head: Buffer): StoredCodec {
  if (head.length >= 2 && head.readUInt16BE(0) === GZIP_MAGIC) return 'gzip';
  if (head.length >= 4 && head.readUInt32BE(0) === ZSTD_MAGIC) return 'zstd';
  return 'none';
}

/** The uncompressed bytes of a stored part. Errors of the codec surface as `corrupt`. */
export async function* unpackStream(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 4) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  async function* whole(): AsyncGenerator<Uint8Array> {
    yield head;
    for (;;) {
      const next = await iterator.next();
      if (next.done) return;
      yield next.value;
    }
  }
  const codec = codecOf(head);
  try {
    yield* codec === 'none' ? whole() : decompress(whole(), codec);
  } catch (error) {
    if (error instanceof ArchiveRefused) throw error;
    throw new ArchiveRefused('corrupt', `the archive is damaged: ${(error as Error).message}`);
  } finally {
    await iterator.return?.();
  }
}

async function* decompress(
  source: AsyncIterable<Uint8Array>,
  codec: 'gzip' | 'zstd',
): AsyncGenerator<Uint8Array> {
  if (codec === 'zstd' && typeof zlib.createZstdDecompress !== 'function') {
    throw new ArchiveRefused('refused', 'this Node cannot read zstd (it needs 22.15 or newer)');
  }
  const stream = codec === 'gzip' ? zlib.createGunzip() : zlib.createZstdDecompress();
  const feeding = feed(source, stream);
  feeding.catch((error: unknown) => stream.destroy(error as Error));
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
    await feeding;
  } finally {
    stream.destroy();
  }
}

async function feed(
  source: AsyncIterable<Uint8Array>,
  stream: NodeJS.WritableStream & Readable,
): Promise<void> {
  for await (const chunk of source) {
    if (stream.destroyed) return;
    if (!stream.write(chunk)) await drained(stream);
  }
  stream.end();
}

/** Also ends when the reader gives up, so that nothing waits for ever. */
const drained = (stream: NodeJS.WritableStream & Readable): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.on('drain', done);
    stream.on('close', done);
  });

/** Checks one stored tar part as it streams by. Throws ArchiveRefused. */
export const checkTarPart = (
  source: AsyncIterable<Uint8Array>,
  rules: TarRules,
  onEntry?: (entry: TarEntry) => void,
): Promise<TarSummary> => checkTar(unpackStream(source), rules, onEntry);

export const checkTarFile = (
  path: string | Buffer,
  rules: TarRules,
  onEntry?: (entry: TarEntry) => void,
): Promise<TarSummary> => checkTarPart(createReadStream(path), rules, onEntry);
