import { buffer } from 'node:stream/consumers';
import type { BlobStore } from '../blob-store.ts';

/** The whole blob; fails where it is not as long as the store says. */
export async function read(store: BlobStore, key: string): Promise<Buffer | null> {
  const found = await store.get(key);
  if (!found) return null;
  const bytes = await buffer(found.body);
  if (bytes.byteLength !== found.size) {
    throw new Error(`${key}: ${bytes.byteLength} of ${found.size} bytes came`);
  }
  return bytes;
}

export async function keysOf(store: BlobStore, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
}
