import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import type { BlobStore } from '../blob-store.ts';
import { keysOf, read } from './read-blob.ts';

export function describeReadAndWrite(store: () => BlobStore): void {
  it('gives back what was put, from bytes and from a stream', async () => {
    const bytes = randomBytes(200_001);
    await expect(store().put('a/bytes', bytes)).resolves.toEqual({ size: 200_001 });
    const chunks = [bytes.subarray(0, 7), bytes.subarray(7, 150_000), bytes.subarray(150_000)];
    await expect(store().put('a/stream', Readable.from(chunks))).resolves.toEqual({
      size: 200_001,
    });
    expect(bytes.equals((await read(store(), 'a/bytes'))!)).toBe(true);
    expect(bytes.equals((await read(store(), 'a/stream'))!)).toBe(true);
    await expect(store().exists('a/stream')).resolves.toBe(true);
  });

  it('keeps an empty blob, from bytes and from a stream', async () => {
    await expect(store().put('empty', new Uint8Array())).resolves.toEqual({ size: 0 });
    await expect(store().put('empty-stream', Readable.from([]))).resolves.toEqual({ size: 0 });
    for (const key of ['empty', 'empty-stream']) {
      expect((await read(store(), key))?.byteLength).toBe(0);
      await expect(store().exists(key)).resolves.toBe(true);
    }
  });

  it('does not keep a view of the bytes it was given', async () => {
    const bytes = Buffer.from('before');
    await store().put('mine', bytes);
    bytes.fill('x');
    expect((await read(store(), 'mine'))?.toString()).toBe('before');
  });

  it('says that a blob is not there, without an exception', async () => {
    await store().put('a/b/c', Buffer.from('x'));
    for (const key of ['missing', 'a/missing', 'a/b', 'a/b/c/d', 'missing/deep/down']) {
      await expect(store().get(key)).resolves.toBeNull();
      await expect(store().exists(key)).resolves.toBe(false);
    }
  });

  it('deletes, and a blob that is not there is deleted already', async () => {
    await store().put('a/b/gone', Buffer.from('x'));
    await store().put('a/kept', Buffer.from('y'));
    await store().delete('a/b/gone');
    await store().delete('a/b/gone');
    for (const key of ['never', 'a/never', 'a', 'a/kept/under']) await store().delete(key);
    await expect(keysOf(store(), '')).resolves.toEqual(['a/kept']);
    await store().put('a/b/gone', Buffer.from('back'));
    expect((await read(store(), 'a/b/gone'))?.toString()).toBe('back');
  });

  it('replaces, and whoever was reading goes on with the old blob', async () => {
    const [old, young] = [randomBytes(300_000), randomBytes(5_000)];
    await store().put('key', old);
    const reading = await store().get('key');
    await store().put('key', young);
    expect(old.equals(await buffer(reading!.body))).toBe(true);
    expect(young.equals((await read(store(), 'key'))!)).toBe(true);
  });
}
