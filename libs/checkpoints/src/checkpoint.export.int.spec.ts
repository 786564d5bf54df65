import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { createMemoryBlobStore } from '@hangar/blob-stores/memory';
import { Vault } from '@hangar/service-kit';
import { exportCheckpoint } from './checkpoint.export.ts';
import { createCheckpointStore, type CheckpointStore } from './checkpoint.store.ts';
import { CHECKPOINT, SESSION, never, partOf, streamOf } from './testing/parts.ts';

const BUNDLE = randomBytes(70_001);
const META = Buffer.from('{"format":1}');

async function stored(): Promise<CheckpointStore> {
  const store = createCheckpointStore(createMemoryBlobStore(), new Vault([randomBytes(32)]));
  const sink = store.begin(SESSION, CHECKPOINT);
  const parts = [partOf('repo.bundle', BUNDLE), partOf('meta.json', META)];
  await sink.put(parts[0]!, streamOf(BUNDLE), never);
  await sink.put(parts[1]!, streamOf(META), never);
  await sink.commit(parts);
  await store.putBase(SESSION, CHECKPOINT, partOf('base.pack', META), [], streamOf(META), never);
  return store;
}

describe('an exported checkpoint', () => {
  it('is a tar with every part, opened, and the base commits it leans on', async () => {
    const tar = await exportCheckpoint(await stored(), SESSION, CHECKPOINT);
    const bytes = await buffer(tar!);
    const names = execFileSync('tar', ['-t'], { input: bytes }).toString().trim().split('\n');
    expect(names).toEqual([
      `${CHECKPOINT}/repo.bundle`,
      `${CHECKPOINT}/meta.json`,
      `${CHECKPOINT}/base-${CHECKPOINT}.pack`,
    ]);
    const bundle = execFileSync('tar', ['-xO', names[0]!], { input: bytes });
    expect(bundle.equals(BUNDLE)).toBe(true);
  });

  it('is null where there is no such checkpoint', async () => {
    expect(await exportCheckpoint(await stored(), SESSION, 'ckp-1a2b3c4d-9')).toBeNull();
  });

  it('says the size of parts of many gigabytes as tar reads it', async () => {
    const size = 9 * 1024 ** 3;
    const part = { name: 'repo.bundle', size, sha256: '' };
    const about = { format: 1 as const, checkpoint_id: CHECKPOINT, session_id: SESSION };
    const store = {
      manifest: async () => ({ ...about, set: '', data_key: '', parts: [part] }),
      bases: async () => [],
      open: async () => Readable.from([Buffer.alloc(512)]),
    } as unknown as CheckpointStore;
    const tar = await exportCheckpoint(store, SESSION, CHECKPOINT);
    const head = (await tar!.take(1).toArray())[0] as Buffer;
    const listed = spawnSync('tar', ['-tv'], { input: head.subarray(0, 512) });
    expect(listed.stdout.toString()).toContain(String(size));
  });
});
