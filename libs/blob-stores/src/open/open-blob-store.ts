import type { BlobStore } from '../blob-store.ts';
import { openFsBlobStore } from '../fs/store.ts';
import { createMemoryBlobStore } from '../memory/store.ts';

/** Which store, as HANGAR_BLOB_STORE says it. */
export type BlobStoreSetting = { kind: 'fs'; directory: string } | { kind: 'memory' };

/** The store that the settings name. A memory store is a process's own: for tests only. */
export async function openBlobStore(setting: BlobStoreSetting): Promise<BlobStore> {
  switch (setting.kind) {
    case 'fs':
      return openFsBlobStore(setting.directory);
    case 'memory':
      return createMemoryBlobStore();
  }
}
