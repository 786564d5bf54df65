import { createMemoryBlobStore } from './store.ts';
import { describeBlobStore } from '../testing/blob-store.suite.ts';
import { fillStore } from '../testing/full-store.ts';

const SMALL_BYTES = 500_000;

describeBlobStore(
  'memory',
  async () => ({ store: createMemoryBlobStore(), close: async () => undefined }),
  { fill: () => fillStore(createMemoryBlobStore(SMALL_BYTES), 2 * SMALL_BYTES, async () => []) },
);
