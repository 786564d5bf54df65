export type { BlobStore } from './blob-store.ts';
export {
  BLOB_KEY_CHARACTERS_MAX,
  BLOB_SEGMENT_CHARACTERS_MAX,
  assertBlobKey,
  assertBlobPrefix,
} from './blob-key.ts';
