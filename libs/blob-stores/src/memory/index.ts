export { MEMORY_BYTES_MAX, createMemoryBlobStore } from './store.ts';
