export { openBlobStore, type BlobStoreSetting } from './open-blob-store.ts';
