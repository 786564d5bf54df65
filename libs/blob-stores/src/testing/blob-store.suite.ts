import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { BlobStore } from '../blob-store.ts';
import { describeAtomicity } from './atomicity.cases.ts';
import { bytesOf, type FullStoreOutcome } from './full-store.ts';
import { describeKeys, describeListing } from './naming.cases.ts';
import { keysOf, read } from './read-blob.ts';
import { describeReadAndWrite } from './read-write.cases.ts';

export interface BlobStoreFixture {
  store: BlobStore;
  close(): Promise<void>;
}

/** Cases that need more than a store: a small disk, a process to kill, or room for 200 MB. */
export interface BlobStoreExtras {
  /** The store keeps bytes outside this process, so 200 MB pass through little memory. */
  streams?: boolean;
  /** Fills a store of little room by `fillStore`. */
  fill?: () => Promise<FullStoreOutcome>;
  /** Kills (-9) a process in the middle of a put of `key`; the store as it is found afterwards. */
  killMidPut?: (key: string) => Promise<BlobStoreFixture>;
}

const BIG_BLOB_BYTES = 200 * 1024 * 1024;
/** Far below the 200 MB, well above what the test runner itself moves by. */
const RSS_GROWTH_BYTES_MAX = 80 * 1024 * 1024;

/** The contract of `BlobStore`, run against one implementation. */
export function describeBlobStore(
  name: string,
  open: () => Promise<BlobStoreFixture>,
  extras: BlobStoreExtras = {},
): void {
  describe(`blob store: ${name}`, () => {
    let fixture: BlobStoreFixture;
    beforeEach(async () => {
      fixture = await open();
    });
    afterEach(async () => {
      await fixture.close();
    });
    const store = (): BlobStore => fixture.store;
    describeReadAndWrite(store);
    describeAtomicity(store);
    describeListing(store);
    describeKeys(store);
    describeExtremes(store, extras);
  });
}

function describeExtremes(store: () => BlobStore, extras: BlobStoreExtras): void {
  const { streams, fill, killMidPut } = extras;
  if (streams) {
    it('passes 200 MB through bounded memory, both ways', async () => {
      const start = process.memoryUsage.rss();
      let highest = start;
      const watch = (): void => {
        highest = Math.max(highest, process.memoryUsage.rss());
      };
      const put = await store().put('big', bytesOf(BIG_BLOB_BYTES, watch));
      expect(put.size).toBe(BIG_BLOB_BYTES);
      let size = 0;
      for await (const chunk of (await store().get('big'))!.body as AsyncIterable<Buffer>) {
        size += chunk.byteLength;
        watch();
      }
      expect(size).toBe(BIG_BLOB_BYTES);
      expect(highest - start).toBeLessThan(RSS_GROWTH_BYTES_MAX);
    }, 120_000);
  }
  if (fill) {
    it('is exhausted when full, with a hint, and leaves no part of the blob', async () => {
      const outcome = await fill();
      expect(outcome).toEqual({
        code: 'exhausted',
        hint: expect.stringMatching(/\S/),
        keys: ['full/earlier'],
        earlierKept: true,
        laterFits: true,
        leftovers: [],
      });
    }, 60_000);
  }
  if (killMidPut) {
    it('shows nothing of a put whose process was killed, and takes the key again', async () => {
      const found = await killMidPut('killed/blob');
      try {
        await expect(found.store.exists('killed/blob')).resolves.toBe(false);
        await expect(found.store.get('killed/blob')).resolves.toBeNull();
        await expect(keysOf(found.store, '')).resolves.toEqual([]);
        await found.store.put('killed/blob', Buffer.from('again'));
        expect((await read(found.store, 'killed/blob'))?.toString()).toBe('again');
      } finally {
        await found.close();
      }
    }, 60_000);
  }
}
