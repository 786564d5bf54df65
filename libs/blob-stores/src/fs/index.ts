export { openFsBlobStore, type FsBlobStore } from './store.ts';
