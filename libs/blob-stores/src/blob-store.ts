import type { Readable } from 'node:stream';

/**
 * Where sealed checkpoint parts live. Keys are `/`-separated ASCII names.
 * `put` is atomic and verified: a reader sees the whole blob or none, and a second put of the
 * same key replaces it. "Not there" is null; delete of a missing blob succeeds. A store that
 * cannot be asked throws HangarError('unavailable'), a full one HangarError('exhausted').
 */
export interface BlobStore {
  readonly kind: 'fs' | 's3' | 'gcs' | 'memory';
  put(key: string, body: Readable | Uint8Array, signal?: AbortSignal): Promise<{ size: number }>;
  get(key: string, signal?: AbortSignal): Promise<{ size: number; body: Readable } | null>;
  exists(key: string): Promise<boolean>;
  /** Keys under a prefix, in order, paged internally. */
  list(prefix: string): AsyncIterable<{ key: string; size: number; modifiedAt: Date }>;
  delete(key: string): Promise<void>;
}
