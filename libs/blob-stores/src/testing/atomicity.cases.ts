import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { expect, it } from '@jest/globals';
import type { BlobStore } from '../blob-store.ts';
import { bytesOf } from './full-store.ts';
import { keysOf, read } from './read-blob.ts';

export function describeAtomicity(store: () => BlobStore): void {
  it('keeps the old blob, or none, when the source fails midway', async () => {
    const old = randomBytes(1_000);
    await store().put('had', old);
    for (const key of ['had', 'new/one']) {
      await expect(store().put(key, failingSource())).rejects.toThrow('the source broke');
    }
    expect(old.equals((await read(store(), 'had'))!)).toBe(true);
    await expect(keysOf(store(), '')).resolves.toEqual(['had']);
  });

  it('refuses a source that had failed or was cut before the put', async () => {
    const failed = new Readable({ read: () => undefined });
    failed.on('error', () => undefined);
    failed.destroy(new Error('early failure'));
    await expect(store().put('failed', failed)).rejects.toThrow('early failure');
    const cut = new Readable({ read: () => undefined });
    cut.push('half');
    cut.destroy();
    await expect(store().put('cut', cut)).rejects.toThrow(/premature/i);
    await expect(keysOf(store(), '')).resolves.toEqual([]);
  });

  it('stops at once when aborted while the source is silent, and leaves nothing', async () => {
    const old = randomBytes(1_000);
    await store().put('had', old);
    const abort = new AbortController();
    const { source, taken } = silentSource();
    const put = store().put('had', source, abort.signal);
    await taken;
    abort.abort(new Error('nobody wants it any more'));
    await expect(put).rejects.toThrow('nobody wants it any more');
    expect(source.destroyed).toBe(true);
    expect(old.equals((await read(store(), 'had'))!)).toBe(true);
    await expect(keysOf(store(), '')).resolves.toEqual(['had']);
  });

  it('does not start when it is aborted already', async () => {
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(store().put('a', Buffer.from('x'), signal)).rejects.toThrow('too late');
    await expect(store().put('a', bytesOf(10), signal)).rejects.toThrow('too late');
    await expect(store().get('a', signal)).rejects.toThrow('too late');
    await expect(store().exists('a')).resolves.toBe(false);
  });

  it('shows one whole blob at any moment while many put the same key', async () => {
    const writers = 8;
    const sizeOf = (writer: number): number => 50_000 + writer * 1_000;
    await store().put('one/key', Buffer.alloc(sizeOf(0), 0));
    const puts = Array.from({ length: writers }, (_, writer) =>
      store().put('one/key', Readable.from(pieces(Buffer.alloc(sizeOf(writer), writer)))),
    );
    const expectWhole = async (): Promise<void> => {
      const bytes = await read(store(), 'one/key');
      const writer = bytes?.[0] ?? -1;
      expect(bytes?.byteLength).toBe(sizeOf(writer));
      expect(bytes?.every((byte) => byte === writer)).toBe(true);
    };
    for (let reads = 0; reads < 20; reads += 1) await expectWhole();
    await Promise.all(puts);
    await expectWhole();
    await expect(keysOf(store(), '')).resolves.toEqual(['one/key']);
  });

  it('puts beside deletes that empty the same folder', async () => {
    const rounds = 25;
    for (let round = 0; round < rounds; round += 1) {
      await store().put('deep/er/old', Buffer.from('x'));
      await Promise.all([
        store().delete('deep/er/old'),
        store().put(`deep/er/new-${round}`, Buffer.from('y')),
      ]);
      await expect(store().exists(`deep/er/new-${round}`)).resolves.toBe(true);
      await store().delete(`deep/er/new-${round}`);
    }
    await expect(keysOf(store(), '')).resolves.toEqual([]);
  });
}

function failingSource(): Readable {
  async function* chunks(): AsyncGenerator<Buffer> {
    yield Buffer.alloc(100_000);
    yield Buffer.alloc(100_000);
    throw new Error('the source broke');
  }
  return Readable.from(chunks());
}

/** Gives some bytes, then nothing and no end; `taken` says when the bytes were asked past. */
function silentSource(): { source: Readable; taken: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let given = false;
  const source = new Readable({
    read() {
      if (given) return resolve();
      given = true;
      this.push(Buffer.alloc(100_000));
    },
  });
  return { source, taken: promise };
}

function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.byteLength; at += 4_096) yield bytes.subarray(at, at + 4_096);
}
