/** Parts and blobs for specs of the control plane's side of checkpoints. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { BlobStore } from '@hangar/blob-stores';
import type { CheckpointPart } from '@hangar/contracts';

export const SESSION = 'ses-1a2b3c4d';
export const CHECKPOINT = 'ckp-1a2b3c4d-1';

export const sha256 = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');

/** What a part of these bytes is announced as. */
export const partOf = (name: string, bytes: Buffer): CheckpointPart => ({
  name,
  size: bytes.length,
  sha256: sha256(bytes),
});

export const never: AbortSignal = new AbortController().signal;

export async function keysOf(blobs: BlobStore, prefix = ''): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of blobs.list(prefix)) keys.push(key);
  return keys;
}

export async function readBlob(blobs: BlobStore, key: string): Promise<Buffer> {
  const blob = await blobs.get(key);
  if (!blob) throw new Error(`there is no ${key}`);
  return buffer(blob.body);
}

/** In pieces, as it comes out of a sandbox. */
export const streamOf = (bytes: Buffer): Readable =>
  Readable.from(
    Array.from({ length: Math.ceil(bytes.length / 1000) }, (_, at) =>
      bytes.subarray(at * 1000, at * 1000 + 1000),
    ),
    { objectMode: false },
  );
