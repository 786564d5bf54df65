import { access, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HangarError } from '@hangar/contracts';
import { isAbsent, storeError } from './store-error.ts';

/**
 * Says "this directory is a hangar blob store". An empty mount point looks like a store in which
 * every blob was lost; without the mark it is recognised as a store that is away.
 */
const MARK = '.hangar-blob-store';

/** Leftovers of file systems and desktops, which do not make a directory somebody's. */
const IGNORED = new Set(['lost+found', '.DS_Store']);

export async function prepareRoot(root: string): Promise<void> {
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
    if (await rootIsThere(root)) return;
    const others = (await readdir(root)).filter((name) => !IGNORED.has(name) && name !== MARK);
    if (others.length > 0) {
      throw new HangarError('invalid', `${root} holds other files, so it cannot be a blob store.`, {
        hint: 'Name an empty directory in HANGAR_BLOB_STORE.',
      });
    }
    await writeFile(join(root, MARK), 'hangar blob store, format 1\n', { mode: 0o600 });
  } catch (error) {
    throw storeError(error, `open ${root}`);
  }
}

export async function rootIsThere(root: string): Promise<boolean> {
  try {
    await access(join(root, MARK));
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw storeError(error, `open ${root}`);
  }
}
