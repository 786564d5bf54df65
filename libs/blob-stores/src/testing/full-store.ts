import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { BlobStore } from '../blob-store.ts';

/** What a store with too little room did; plain values, so that a child process can report it. */
export interface FullStoreOutcome {
  code: string;
  hint: string;
  keys: string[];
  /** The blob stored before the disk was full reads back whole. */
  earlierKept: boolean;
  /** A small blob fits again afterwards: the failed one gave its room back. */
  laterFits: boolean;
  /** Files that are neither blobs nor the store's own mark. */
  leftovers: string[];
}

/** Fills a store past its end, with a blob of `tooManyBytes`, and says what is left. */
export async function fillStore(
  store: BlobStore,
  tooManyBytes: number,
  leftovers: () => Promise<string[]>,
): Promise<FullStoreOutcome> {
  const earlier = randomBytes(10_000);
  await store.put('full/earlier', earlier);
  const failure = await store.put('full/too-large', bytesOf(tooManyBytes)).then(
    () => ({ code: 'none', hint: 'the put succeeded' }),
    (error: unknown) => error as { code?: string; hint?: string },
  );
  const found = await store.get('full/earlier');
  const earlierKept = found !== null && earlier.equals(await buffer(found.body));
  const left = await leftovers();
  const keys: string[] = [];
  for await (const { key } of store.list('')) keys.push(key);
  const laterFits = await store.put('full/later', randomBytes(10_000)).then(
    () => true,
    () => false,
  );
  const { code = 'no code', hint = '' } = failure;
  return { code, hint, keys, earlierKept, laterFits, leftovers: left };
}

/** A source of `size` bytes that holds one chunk of 64 KiB in memory. */
export function bytesOf(size: number, onChunk: () => void = () => undefined): Readable {
  const chunk = randomBytes(64 * 1024);
  function* chunks(): Generator<Buffer> {
    for (let left = size; left > 0; left -= chunk.byteLength) {
      onChunk();
      yield left >= chunk.byteLength ? chunk : chunk.subarray(0, left);
    }
  }
  return Readable.from(chunks(), { objectMode: false, highWaterMark: 64 * 1024 });
}
