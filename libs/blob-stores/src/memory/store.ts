import { Readable } from 'node:stream';
import { HangarError } from '@hangar/contracts';
import { assertBlobKey, assertBlobPrefix } from '../blob-key.ts';
import { blobSource } from '../blob-source.ts';
import type { BlobStore } from '../blob-store.ts';

/** Enough for tests and trials, small enough that a mistake does not take the machine's memory. */
export const MEMORY_BYTES_MAX = 256 * 1024 * 1024;
const READ_CHUNK_BYTES = 64 * 1024;

interface Blob {
  bytes: Buffer;
  modifiedAt: Date;
}

/** Blobs that last as long as the process; full at `bytesMax`, then `exhausted`. */
export function createMemoryBlobStore(bytesMax = MEMORY_BYTES_MAX): BlobStore {
  return new MemoryStore(bytesMax);
}

class MemoryStore implements BlobStore {
  readonly kind = 'memory' as const;
  readonly #blobs = new Map<string, Blob>();
  readonly #bytesMax: number;
  /** Of stored blobs and of puts under way, so that many puts at once are bounded too. */
  #bytesHeld = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  async put(
    key: string,
    body: Readable | Uint8Array,
    signal?: AbortSignal,
  ): Promise<{ size: number }> {
    const source = blobSource(body, signal);
    try {
      assertBlobKey(key);
      const bytes = await this.#collect(source, key, signal);
      this.#bytesHeld -= this.#sizeOf(key);
      this.#blobs.set(key, { bytes, modifiedAt: new Date() });
      return { size: bytes.byteLength };
    } catch (error) {
      if (!(body instanceof Uint8Array)) body.destroy();
      throw error;
    }
  }

  /** On success the bytes stay counted in `#bytesHeld`; on failure they are given back. */
  async #collect(
    source: AsyncIterable<Uint8Array>,
    key: string,
    signal: AbortSignal | undefined,
  ): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const chunk of source) {
        size += chunk.byteLength;
        this.#bytesHeld += chunk.byteLength;
        if (this.#bytesHeld > this.#bytesMax) throw this.#full(key);
        chunks.push(Uint8Array.from(chunk));
      }
      signal?.throwIfAborted();
      return Buffer.concat(chunks);
    } catch (error) {
      this.#bytesHeld -= size;
      throw error;
    }
  }

  async get(key: string, signal?: AbortSignal): Promise<{ size: number; body: Readable } | null> {
    assertBlobKey(key);
    signal?.throwIfAborted();
    const blob = this.#blobs.get(key);
    if (!blob) return null;
    const body = Readable.from(slices(blob.bytes), {
      objectMode: false,
      ...(signal && { signal }),
    });
    return { size: blob.bytes.byteLength, body };
  }

  async exists(key: string): Promise<boolean> {
    assertBlobKey(key);
    return this.#blobs.has(key);
  }

  async *list(prefix: string): AsyncIterable<{ key: string; size: number; modifiedAt: Date }> {
    assertBlobPrefix(prefix);
    const keys = [...this.#blobs.keys()].filter((key) => key.startsWith(prefix)).sort();
    for (const key of keys) {
      const blob = this.#blobs.get(key);
      if (blob) yield { key, size: blob.bytes.byteLength, modifiedAt: blob.modifiedAt };
    }
  }

  async delete(key: string): Promise<void> {
    assertBlobKey(key);
    this.#bytesHeld -= this.#sizeOf(key);
    this.#blobs.delete(key);
  }

  #sizeOf(key: string): number {
    return this.#blobs.get(key)?.bytes.byteLength ?? 0;
  }

  #full(key: string): HangarError {
    return new HangarError(
      'exhausted',
      `The memory blob store holds ${this.#bytesMax} bytes at most; ${key} does not fit.`,
      { hint: 'Use a directory: HANGAR_BLOB_STORE=fs:<dir>.' },
    );
  }
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.byteLength; at += READ_CHUNK_BYTES) {
    yield Buffer.from(bytes.subarray(at, at + READ_CHUNK_BYTES));
  }
}
