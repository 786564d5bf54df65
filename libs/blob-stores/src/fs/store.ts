import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm, rmdir, stat, unlink, type FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { HangarError } from '@hangar/contracts';
import { assertBlobKey, assertBlobPrefix } from '../blob-key.ts';
import { blobSource } from '../blob-source.ts';
import type { BlobStore } from '../blob-store.ts';
import { errnoOf, isAbsent, storeError } from './store-error.ts';
import { prepareRoot, rootIsThere } from './store-root.ts';
import { TEMPORARY_PREFIX, walkBlobs, walkTemporary } from './walk.ts';

/** A folder pruned between making it and using it is made again; each loss needs another delete. */
const FOLDER_ATTEMPTS_MAX = 5;

/**
 * Blobs as files of one directory, a file per key.
 *
 * A blob is written to a temporary file beside its target, which is synced, closed and renamed;
 * then the folders down to it are synced. So a reader sees the whole blob or none, also after a
 * power cut. A key cannot be the folder of another key here; that put is refused as `invalid`.
 */
export interface FsBlobStore extends BlobStore {
  readonly kind: 'fs';
  readonly directory: string;
  /**
   * Removes the temporary files that a killed process left behind and that were last written
   * before `olderThan`; choose it older than the longest put. Gives how many were removed.
   */
  sweepTemporary(olderThan: Date): Promise<number>;
}

/**
 * Opens a directory as a store, making it where it is not there. A directory that holds other
 * things is refused (`invalid`), so that a wrong setting never mixes blobs with somebody's files.
 */
export async function openFsBlobStore(directory: string): Promise<FsBlobStore> {
  const root = resolve(directory);
  await prepareRoot(root);
  return new DirectoryStore(root);
}

class DirectoryStore implements FsBlobStore {
  readonly kind = 'fs' as const;
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  async put(
    key: string,
    body: Readable | Uint8Array,
    signal?: AbortSignal,
  ): Promise<{ size: number }> {
    const source = blobSource(body, signal);
    try {
      assertBlobKey(key);
      await this.#assertRoot();
      return await this.#write(this.#path(key), key, source, signal);
    } catch (error) {
      // The source is ours from the call on: leaving it open would leak what stands behind it.
      if (!(body instanceof Uint8Array)) body.destroy();
      throw error;
    }
  }

  async #write(
    target: string,
    key: string,
    source: AsyncIterable<Uint8Array>,
    signal: AbortSignal | undefined,
  ): Promise<{ size: number }> {
    const { handle, path } = await this.#openTemporary(dirname(target), key);
    try {
      const size = await writeAll(handle, source, key);
      signal?.throwIfAborted();
      await onDisk(key, () => rename(path, target));
      await this.#syncFolders(dirname(target), key);
      return { size };
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  async #openTemporary(folder: string, key: string): Promise<{ handle: FileHandle; path: string }> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        const path = join(folder, `${TEMPORARY_PREFIX}${randomBytes(8).toString('hex')}`);
        return { handle: await open(path, 'wx', 0o600), path };
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT' || attempt === FOLDER_ATTEMPTS_MAX) {
          throw storeError(error, `write ${key}`);
        }
      }
    }
  }

  /** Every folder up to the root: one that another put has just made may not be on disk yet. */
  async #syncFolders(folder: string, key: string): Promise<void> {
    for (let at = folder; ; at = dirname(at)) {
      await onDisk(key, async () => {
        const handle = await open(at, 'r');
        try {
          await handle.sync();
        } finally {
          await handle.close();
        }
      });
      if (at === this.directory) return;
    }
  }

  /** The file stays open from here on, so a put or delete meanwhile does not disturb the reader. */
  async get(key: string, signal?: AbortSignal): Promise<{ size: number; body: Readable } | null> {
    assertBlobKey(key);
    signal?.throwIfAborted();
    const handle = await this.#absentAsNull(`read ${key}`, () => open(this.#path(key), 'r'));
    if (handle === null) return null;
    const found = await handle.stat();
    if (!found.isFile()) {
      await handle.close();
      return null;
    }
    return { size: found.size, body: handle.createReadStream(signal ? { signal } : {}) };
  }

  async exists(key: string): Promise<boolean> {
    assertBlobKey(key);
    const found = await this.#absentAsNull(`look for ${key}`, () => stat(this.#path(key)));
    return found?.isFile() ?? false;
  }

  async *list(prefix: string): AsyncIterable<{ key: string; size: number; modifiedAt: Date }> {
    assertBlobPrefix(prefix);
    await this.#assertRoot();
    yield* walkBlobs(this.directory, prefix);
  }

  async delete(key: string): Promise<void> {
    assertBlobKey(key);
    const path = this.#path(key);
    try {
      await unlink(path);
    } catch (error) {
      // EISDIR (Linux) and EPERM (elsewhere): the name is a folder, so no such blob is there.
      const folder =
        ['EISDIR', 'EPERM'].includes(errnoOf(error) ?? '') && !(await this.exists(key));
      if (!folder && !isAbsent(error)) throw storeError(error, `delete ${key}`);
      await this.#assertRoot();
    }
    await this.#pruneFolders(dirname(path));
  }

  async sweepTemporary(olderThan: Date): Promise<number> {
    await this.#assertRoot();
    let removed = 0;
    for await (const { path, modifiedAt } of walkTemporary(this.directory)) {
      if (modifiedAt >= olderThan) continue;
      await rm(path, { force: true });
      removed += 1;
    }
    return removed;
  }

  /** Empty folders would pile up, one for each checkpoint ever taken. */
  async #pruneFolders(folder: string): Promise<void> {
    for (let at = folder; at !== this.directory; at = dirname(at)) {
      try {
        await rmdir(at);
      } catch {
        return; // Not empty, or somebody else was quicker: both are fine.
      }
    }
  }

  /** A missing file means "not there" only while the store itself is there ([S5]). */
  async #absentAsNull<T>(doing: string, act: () => Promise<T>): Promise<T | null> {
    try {
      return await act();
    } catch (error) {
      if (!isAbsent(error)) throw storeError(error, doing);
      await this.#assertRoot();
      return null;
    }
  }

  async #assertRoot(): Promise<void> {
    if (await rootIsThere(this.directory)) return;
    throw new HangarError('unavailable', `The blob directory ${this.directory} is not there.`, {
      hint: 'Mount it again, or set HANGAR_BLOB_STORE to where the blobs are now.',
    });
  }

  #path(key: string): string {
    return join(this.directory, ...key.split('/'));
  }
}

/** Writes, syncs and closes; what the disk says it has must be what the source gave. */
async function writeAll(
  handle: FileHandle,
  source: AsyncIterable<Uint8Array>,
  key: string,
): Promise<number> {
  let size = 0;
  try {
    for await (const chunk of source) {
      await onDisk(key, () => writeChunk(handle, chunk));
      size += chunk.byteLength;
    }
    await onDisk(key, () => handle.sync());
    const written = (await handle.stat()).size;
    if (written !== size) {
      throw new HangarError('unavailable', `${key}: ${written} of ${size} bytes are on disk.`);
    }
  } finally {
    await handle.close();
  }
  return size;
}

async function writeChunk(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let offset = 0; offset < chunk.byteLength;) {
    offset += (await handle.write(chunk, offset)).bytesWritten;
  }
}

/** Only what the disk says is translated; an error of the source reaches the caller as it is. */
async function onDisk<T>(key: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw storeError(error, `write ${key}`);
  }
}
