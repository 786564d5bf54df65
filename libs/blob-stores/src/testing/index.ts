export {
  describeBlobStore,
  type BlobStoreExtras,
  type BlobStoreFixture,
} from './blob-store.suite.ts';
export { bytesOf, fillStore, type FullStoreOutcome } from './full-store.ts';
