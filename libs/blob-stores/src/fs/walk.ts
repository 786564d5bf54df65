import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsent, storeError } from './store-error.ts';

/** Keys never start with a dot, so a temporary file is never taken for a blob. */
export const TEMPORARY_PREFIX = '.put-';

interface Entry {
  name: string;
  folder: boolean;
}

/**
 * Blobs under a prefix in the order of their whole keys, one folder's names in memory at a time.
 * Folders sort as `name/`, because "a-b" comes before "a/b" although "a" comes before "a-b".
 */
export async function* walkBlobs(
  root: string,
  prefix: string,
  at = '',
): AsyncGenerator<{ key: string; size: number; modifiedAt: Date }> {
  for (const { name, folder } of await entries(join(root, at))) {
    const key = at + name;
    if (name.startsWith('.')) continue;
    if (folder && (key.startsWith(prefix) || prefix.startsWith(key))) {
      yield* walkBlobs(root, prefix, key);
    } else if (!folder && key.startsWith(prefix)) {
      const found = await statIfThere(join(root, key));
      if (found) yield { key, size: found.size, modifiedAt: found.mtime };
    }
  }
}

export async function* walkTemporary(
  folder: string,
): AsyncGenerator<{ path: string; modifiedAt: Date }> {
  for (const entry of await entries(folder)) {
    const path = join(folder, entry.name);
    if (entry.folder) yield* walkTemporary(path);
    else if (entry.name.startsWith(TEMPORARY_PREFIX)) {
      const found = await statIfThere(path);
      if (found) yield { path, modifiedAt: found.mtime };
    }
  }
}

async function entries(folder: string): Promise<Entry[]> {
  const found = await readIfThere(folder);
  return found
    .map((entry): Entry =>
      entry.isDirectory()
        ? { name: `${entry.name}/`, folder: true }
        : { name: entry.name, folder: false },
    )
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A folder that a delete pruned meanwhile has nothing in it. */
async function readIfThere(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isAbsent(error)) return [];
    throw storeError(error, `list ${folder}`);
  }
}

async function statIfThere(path: string): Promise<{ size: number; mtime: Date } | null> {
  try {
    return await stat(path);
  } catch (error) {
    if (isAbsent(error)) return null;
    throw storeError(error, `list ${path}`);
  }
}
