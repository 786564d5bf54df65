import { expect, it } from '@jest/globals';
import type { BlobStore } from '../blob-store.ts';
import { bytesOf } from './full-store.ts';
import { keysOf } from './read-blob.ts';

/** More than one page of S3 (1000) would be slow on disks that really sync; stores page lower. */
const LISTED_BLOBS = 60;

const BAD_KEYS = [
  '',
  '/',
  '/etc/passwd',
  '..',
  '../up',
  'a/../../up',
  'a/..',
  './a',
  'a/./b',
  'a//b',
  'a/',
  '.hidden',
  'a/.put-0',
  'a\\..\\b',
  'C:\\a',
  'a\0b',
  'a\nb',
  'a b',
  'é',
  '%2e%2e/a',
  '-rf',
  'x'.repeat(201),
  'abcdefgh/'.repeat(60) + 'x',
];

export function describeListing(store: () => BlobStore): void {
  it('lists in the order of the whole keys, by prefix', async () => {
    const keys = ['a-b', 'a.b', 'a/b', 'a/c/d', 'a=b', 'ab', 'b/a', 'B/a'].sort();
    for (const key of keys.toReversed()) await store().put(key, Buffer.from(key));
    await expect(keysOf(store(), '')).resolves.toEqual(keys);
    await expect(keysOf(store(), 'a')).resolves.toEqual(keys.filter((key) => key[0] === 'a'));
    await expect(keysOf(store(), 'a/')).resolves.toEqual(['a/b', 'a/c/d']);
    await expect(keysOf(store(), 'a/c')).resolves.toEqual(['a/c/d']);
    await expect(keysOf(store(), 'a/c/d')).resolves.toEqual(['a/c/d']);
    await expect(keysOf(store(), 'a/c/d/')).resolves.toEqual([]);
    await expect(keysOf(store(), 'zzz/')).resolves.toEqual([]);
  });

  it('lists many, with size and time', async () => {
    const before = Date.now();
    const names = Array.from(
      { length: LISTED_BLOBS },
      (_, at) => `many/${String(at).padStart(4, '0')}`,
    );
    for (const name of names) await store().put(name, Buffer.alloc(3));
    const found: string[] = [];
    for await (const { key, size, modifiedAt } of store().list('many/')) {
      found.push(key);
      expect(size).toBe(3);
      // A file system's clock may be a tick behind; a day off would be a wrong field.
      expect(Math.abs(modifiedAt.getTime() - before)).toBeLessThan(60_000);
    }
    expect(found).toEqual(names);
  });
}

export function describeKeys(store: () => BlobStore): void {
  it.each(BAD_KEYS.map((key) => [JSON.stringify(key.slice(0, 30)), key]))(
    'refuses the key %s everywhere',
    async (_, key) => {
      const source = bytesOf(10);
      await expect(store().put(key, source)).rejects.toMatchObject({ code: 'invalid' });
      expect(source.destroyed).toBe(true);
      await expect(store().get(key)).rejects.toMatchObject({ code: 'invalid' });
      await expect(store().exists(key)).rejects.toMatchObject({ code: 'invalid' });
      await expect(store().delete(key)).rejects.toMatchObject({ code: 'invalid' });
    },
  );

  it.each(['../', '/', 'a/../', '.', 'a//', 'a\0'])('refuses the prefix %j', async (prefix) => {
    await expect(keysOf(store(), prefix)).rejects.toMatchObject({ code: 'invalid' });
  });

  it('takes the longest key it documents', async () => {
    const key = ['x'.repeat(200), 'y'.repeat(200), 'z'.repeat(110)].join('/');
    expect(key.length).toBe(512);
    await store().put(key, Buffer.from('deep'));
    await expect(keysOf(store(), '')).resolves.toEqual([key]);
  });
}
