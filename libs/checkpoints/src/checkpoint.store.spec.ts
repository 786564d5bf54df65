import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import type { BlobStore } from '@hangar/blob-stores';
import { createMemoryBlobStore } from '@hangar/blob-stores/memory';
import { Vault } from '@hangar/service-kit';
import { createCheckpointStore, type CheckpointStore } from './checkpoint.store.ts';
import { CHECKPOINT, SESSION, keysOf, never, partOf, readBlob, streamOf } from './testing/parts.ts';

const OTHER = 'ckp-1a2b3c4d-2';
const oldKey = randomBytes(32);
const newKey = randomBytes(32);
const BYTES = randomBytes(200_000);
const META = Buffer.from('{"format":1}');

interface Bench {
  blobs: BlobStore;
  store: CheckpointStore;
}

const bench = (keys: Buffer[] = [oldKey], blobs = createMemoryBlobStore()): Bench => ({
  blobs,
  store: createCheckpointStore(blobs, new Vault(keys)),
});

async function save(
  store: CheckpointStore,
  checkpointId = CHECKPOINT,
  bytes = BYTES,
  sessionId = SESSION,
): Promise<void> {
  const sink = store.begin(sessionId, checkpointId);
  const parts = [partOf('repo.bundle', bytes), partOf('meta.json', META)];
  await sink.put(parts[0]!, streamOf(bytes), never);
  await sink.put(parts[1]!, streamOf(META), never);
  await sink.commit(parts);
}

async function read(store: CheckpointStore, name = 'repo.bundle', id = CHECKPOINT) {
  const manifest = await store.manifest(SESSION, id);
  if (!manifest) throw new Error('there is no checkpoint');
  return buffer(await store.open(manifest, name));
}

async function manifestOf(blobs: BlobStore, id = CHECKPOINT): Promise<Record<string, unknown>> {
  const bytes = await readBlob(blobs, `sessions/${SESSION}/${id}/manifest.json`);
  return JSON.parse(bytes.toString()) as Record<string, unknown>;
}

const putManifest = (blobs: BlobStore, manifest: object, id = CHECKPOINT) =>
  blobs.put(`sessions/${SESSION}/${id}/manifest.json`, Buffer.from(JSON.stringify(manifest)));

describe('a checkpoint in the store', () => {
  it('gives back what was put, and is sealed at rest [C4]', async () => {
    const { blobs, store } = bench();
    await save(store);
    expect((await read(store)).equals(BYTES)).toBe(true);
    for (const key of await keysOf(blobs))
      expect((await readBlob(blobs, key)).includes(BYTES.subarray(0, 64))).toBe(false);
  });

  it('is not there before its manifest, which comes last [C3]', async () => {
    const { store } = bench();
    const sink = store.begin(SESSION, CHECKPOINT);
    await sink.put(partOf('repo.bundle', BYTES), streamOf(BYTES), never);
    expect(await store.manifest(SESSION, CHECKPOINT)).toBeNull();
    await sink.commit([partOf('repo.bundle', BYTES)]);
    expect(await store.manifest(SESSION, CHECKPOINT)).not.toBeNull();
  });

  it.each([
    ['a byte less', BYTES.subarray(1)],
    ['a byte more', Buffer.concat([BYTES, Buffer.from('x')])],
    ['other bytes', Buffer.from(BYTES).fill(0, 0, 1)],
    ['nothing', Buffer.alloc(0)],
  ])('refuses a part that has %s than announced', async (_, bytes) => {
    const { blobs, store } = bench();
    const sink = store.begin(SESSION, CHECKPOINT);
    const put = sink.put(partOf('repo.bundle', BYTES), streamOf(bytes), never);
    await expect(put).rejects.toMatchObject({ code: 'invalid' });
    expect(await keysOf(blobs)).toEqual([]);
  });

  it('keeps nothing of a part whose source broke', async () => {
    const { blobs, store } = bench();
    const source = Readable.from(
      (function* () {
        yield BYTES.subarray(0, 1000);
        throw new Error('the sandbox went away');
      })(),
    );
    const put = store.begin(SESSION, CHECKPOINT).put(partOf('repo.bundle', BYTES), source, never);
    await expect(put).rejects.toThrow('went away');
    expect(await keysOf(blobs)).toEqual([]);
  });

  it('of a late try does not mix with that of another [M5]', async () => {
    const { store } = bench();
    const late = store.begin(SESSION, CHECKPOINT);
    const other = randomBytes(100_000);
    await save(store);
    // The late one goes on where it was paused: one part put anew, and its manifest never.
    await late.put(partOf('repo.bundle', other), streamOf(other), never);
    expect((await read(store)).equals(BYTES)).toBe(true);
    // Even when its manifest comes, the checkpoint is one or the other, whole.
    await late.commit([partOf('repo.bundle', other)]);
    expect((await read(store)).equals(other)).toBe(true);
  });
});

describe('blobs that somebody changed', () => {
  it.each(['cut', 'flipped', 'longer'])('do not open: %s', async (how) => {
    const { blobs, store } = bench();
    await save(store);
    const key = (await keysOf(blobs)).find((each) => each.endsWith('repo.bundle')) ?? '';
    const bytes = await readBlob(blobs, key);
    bytes[bytes.length - 100]! ^= how === 'flipped' ? 1 : 0;
    const changed = how === 'cut' ? bytes.subarray(0, -65_552) : bytes;
    const put = how === 'longer' ? Buffer.concat([bytes, Buffer.alloc(16)]) : changed;
    await blobs.put(key, put);
    await expect(read(store)).rejects.toMatchObject({ code: 'invalid' });
  });

  it('do not open in the place of another part', async () => {
    const { blobs, store } = bench();
    await save(store);
    const keys = await keysOf(blobs);
    const bundle = keys.find((each) => each.endsWith('repo.bundle')) ?? '';
    const meta = keys.find((each) => each.endsWith('meta.json')) ?? '';
    await blobs.put(meta, await readBlob(blobs, bundle));
    await expect(read(store, 'meta.json')).rejects.toMatchObject({ code: 'invalid' });
  });

  it('that are missing are told apart: not found', async () => {
    const { blobs, store } = bench();
    await save(store);
    for (const key of await keysOf(blobs)) if (key.endsWith('repo.bundle')) await blobs.delete(key);
    await expect(read(store)).rejects.toMatchObject({ code: 'not_found' });
    await expect(read(store, 'wip.patch')).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('a manifest that somebody changed', () => {
  it("does not open another session's parts from its place", async () => {
    const { blobs, store } = bench();
    await save(store, 'ckp-99999999-1', BYTES, 'ses-99999999');
    await save(store);
    const foreign = await readBlob(blobs, 'sessions/ses-99999999/ckp-99999999-1/manifest.json');
    await blobs.put(`sessions/${SESSION}/${CHECKPOINT}/manifest.json`, foreign);
    await expect(store.manifest(SESSION, CHECKPOINT)).rejects.toMatchObject({ code: 'invalid' });
  });

  it("does not open with another checkpoint's key", async () => {
    const { blobs, store } = bench();
    await save(store);
    await save(store, OTHER);
    const other = await manifestOf(blobs, OTHER);
    await putManifest(blobs, { ...(await manifestOf(blobs)), data_key: other['data_key'] });
    await expect(read(store)).rejects.toMatchObject({ code: 'invalid' });
  });

  it.each<[string, (manifest: Record<string, unknown>) => unknown]>([
    ['no JSON', () => '{"form'],
    ['no object', () => null],
    ['a set outside', (m) => ({ ...m, set: '../../ses-99999999/x' })],
    ['a part outside', (m) => ({ ...m, parts: [{ ...partOf('x', META), name: '../meta.json' }] })],
    ['no parts', (m) => ({ ...m, parts: undefined })],
    ['another format', (m) => ({ ...m, format: 2 })],
    ['too large', (m) => ({ ...m, padding: 'x'.repeat(1024 * 1024) })],
  ])('is refused: %s', async (_, change) => {
    const { blobs, store } = bench();
    await save(store);
    const changed = change(await manifestOf(blobs));
    const text = typeof changed === 'string' ? changed : JSON.stringify(changed);
    await blobs.put(`sessions/${SESSION}/${CHECKPOINT}/manifest.json`, Buffer.from(text));
    await expect(store.manifest(SESSION, CHECKPOINT)).rejects.toMatchObject({ code: 'invalid' });
  });

  it('with another size or hash gives nothing that could be used', async () => {
    const { blobs, store } = bench();
    await save(store);
    const parts = [partOf('repo.bundle', BYTES.subarray(0, 1000)), partOf('meta.json', META)];
    await putManifest(blobs, { ...(await manifestOf(blobs)), parts });
    await expect(read(store)).rejects.toMatchObject({ code: 'invalid' });
  });
});

describe('a rotation of the vault key [C4]', () => {
  it('rewraps what the old key wrapped; then the old one can go', async () => {
    const { blobs, store } = bench([oldKey]);
    await save(store);
    await store.putBase(
      SESSION,
      CHECKPOINT,
      partOf('base.pack', BYTES),
      ['a'.repeat(40)],
      streamOf(BYTES),
      never,
    );
    await expect(read(bench([newKey], blobs).store)).rejects.toMatchObject({ code: 'invalid' });
    const both = bench([newKey, oldKey], blobs).store;
    expect((await read(both)).equals(BYTES)).toBe(true);
    expect(await both.rewrap()).toBe(2);
    expect(await both.rewrap()).toBe(0);
    const alone = bench([newKey], blobs).store;
    expect((await read(alone)).equals(BYTES)).toBe(true);
    const [base] = await alone.bases(SESSION);
    expect((await buffer(await alone.open(base!, 'base.pack'))).equals(BYTES)).toBe(true);
  });

  it('goes on past a manifest that does not open, and tells of it', async () => {
    const { blobs, store } = bench([oldKey]);
    await save(store, CHECKPOINT);
    await save(store, OTHER);
    await blobs.put(`sessions/${SESSION}/${CHECKPOINT}/manifest.json`, Buffer.from('{'));
    await expect(bench([newKey, oldKey], blobs).store.rewrap()).rejects.toMatchObject({
      code: 'invalid',
    });
    const alone = bench([newKey], blobs).store;
    expect((await read(alone, 'repo.bundle', OTHER)).equals(BYTES)).toBe(true);
  });
});

describe('what is deleted', () => {
  it('leaves no blob of the checkpoint, and all of the others', async () => {
    const { blobs, store } = bench();
    await save(store);
    await store.begin(SESSION, CHECKPOINT).put(partOf('wip.patch', META), streamOf(META), never);
    await save(store, 'ckp-1a2b3c4d-10');
    await store.delete(SESSION, CHECKPOINT);
    expect(await keysOf(blobs, `sessions/${SESSION}/${CHECKPOINT}/`)).toEqual([]);
    expect((await read(store, 'repo.bundle', 'ckp-1a2b3c4d-10')).equals(BYTES)).toBe(true);
    await store.delete(SESSION, CHECKPOINT);
  });

  it('with its session leaves nothing of it, packs of base commits included [S6]', async () => {
    const { blobs, store } = bench();
    await save(store);
    await save(store, 'ckp-99999999-1', BYTES, 'ses-99999999');
    await store.putBase(SESSION, CHECKPOINT, partOf('base.pack', META), [], streamOf(META), never);
    await store.deleteSession(SESSION);
    const left = await keysOf(blobs);
    expect(left.length).toBe(3);
    expect(left.every((key) => key.startsWith('sessions/ses-99999999/'))).toBe(true);
  });

  it('that was cut in the middle is no checkpoint any more', async () => {
    const { blobs, store } = bench();
    await save(store);
    let deletes = 0;
    const cut: BlobStore = {
      kind: 'memory',
      put: (...all) => blobs.put(...all),
      get: (...all) => blobs.get(...all),
      exists: (key) => blobs.exists(key),
      list: (prefix) => blobs.list(prefix),
      delete: (key) => (deletes++ > 0 ? Promise.reject(new Error('cut')) : blobs.delete(key)),
    };
    const cutStore = createCheckpointStore(cut, new Vault([oldKey]));
    await expect(cutStore.delete(SESSION, CHECKPOINT)).rejects.toThrow('cut');
    expect(await store.manifest(SESSION, CHECKPOINT)).toBeNull();
    expect((await keysOf(blobs)).length).toBe(2);
  });
});

describe('packs of base commits', () => {
  it('are found by session; one that is damaged is as good as none', async () => {
    const { blobs, store } = bench();
    const ids = ['a'.repeat(40)];
    for (const id of [CHECKPOINT, OTHER])
      await store.putBase(SESSION, id, partOf('base.pack', BYTES), ids, streamOf(BYTES), never);
    expect((await store.bases(SESSION)).map((base) => base.prerequisites)).toEqual([ids, ids]);
    await blobs.put(`sessions/${SESSION}/base/${CHECKPOINT}/manifest.json`, Buffer.from('x'));
    const left = await store.bases(SESSION);
    expect(left.map((base) => base.checkpoint_id)).toEqual([OTHER]);
    expect(await store.bases('ses-99999999')).toEqual([]);
  });
});
