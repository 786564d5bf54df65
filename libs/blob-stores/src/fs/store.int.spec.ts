import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdir,
  mkdtemp,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { describeBlobStore } from '../testing/blob-store.suite.ts';
import { fillStore, type FullStoreOutcome } from '../testing/full-store.ts';
import { leftoversIn } from './leftovers.ts';
import { openFsBlobStore, type FsBlobStore } from './store.ts';

const CHILD = fileURLToPath(new URL('./store.child.ts', import.meta.url));
const NODE_FLAGS = ['--conditions=@hangar/source', '--disable-warning=ExperimentalWarning'];
const FULL_BYTES = 1024 * 1024;

async function openTemporary(): Promise<{ store: FsBlobStore; close: () => Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'hangar-blobs-'));
  const store = await openFsBlobStore(join(directory, 'store'));
  return { store, close: () => rm(directory, { recursive: true }) };
}

/** A file size limit stands in for a full disk where mounting is not allowed. */
async function fillUnderLimit(): Promise<FullStoreOutcome> {
  const { store, close } = await openTemporary();
  const node = [process.execPath, ...NODE_FLAGS, CHILD, 'fill', store.directory, '4000000'];
  const script = `ulimit -f ${FULL_BYTES / 1024}; exec "$@"`;
  const child = spawnSync('bash', ['-c', script, 'bash', ...node], { encoding: 'utf8' });
  await close();
  if (child.status !== 0) throw new Error(child.stderr);
  return JSON.parse(child.stdout) as FullStoreOutcome;
}

async function fillSmallDisk(): Promise<FullStoreOutcome> {
  const directory = await mkdtemp(join(tmpdir(), 'hangar-small-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${FULL_BYTES}`, 'none', directory]);
  } catch {
    await rm(directory, { recursive: true });
    return fillUnderLimit();
  }
  try {
    const store = await openFsBlobStore(directory);
    return await fillStore(store, 4 * FULL_BYTES, () => leftoversIn(directory));
  } finally {
    execFileSync('umount', [directory]);
    await rm(directory, { recursive: true });
  }
}

async function killMidPut(key: string): ReturnType<typeof openTemporary> {
  const opened = await openTemporary();
  const child = spawn(
    process.execPath,
    [...NODE_FLAGS, CHILD, 'hang', opened.store.directory, key],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const exit = once(child, 'exit');
  const line = await Promise.race([once(createInterface(child.stdout), 'line'), exit]);
  expect(line).toEqual(['waiting']);
  child.kill('SIGKILL');
  expect(await exit).toEqual([null, 'SIGKILL']);
  return opened;
}

describeBlobStore('fs', openTemporary, { streams: true, fill: fillSmallDisk, killMidPut });

describe('fs blob store', () => {
  let store: FsBlobStore;
  let close: () => Promise<void>;
  beforeEach(async () => {
    ({ store, close } = await openTemporary());
  });
  afterEach(async () => {
    await close();
  });

  it('is exhausted by a file size limit as by a full disk', async () => {
    await expect(fillUnderLimit()).resolves.toMatchObject({
      code: 'exhausted',
      keys: ['full/earlier'],
      laterFits: true,
      leftovers: [],
    });
  });

  it('sweeps what a killed process left once it is old enough', async () => {
    const killed = await killMidPut('a/b/killed');
    const [path = ''] = await leftoversIn(killed.store.directory);
    expect((await stat(path)).size).toBeGreaterThan(1_000_000);
    const hourAgo = new Date(Date.now() - 3_600_000);
    await expect(killed.store.sweepTemporary(hourAgo)).resolves.toBe(0);
    await utimes(path, hourAgo, new Date(hourAgo.getTime() - 1_000));
    await killed.store.put('a/b/kept', Buffer.from('x'));
    await expect(killed.store.sweepTemporary(hourAgo)).resolves.toBe(1);
    await expect(leftoversIn(killed.store.directory)).resolves.toEqual([]);
    await expect(killed.store.exists('a/b/kept')).resolves.toBe(true);
    await killed.close();
  });

  it('leaves no temporary file and no open source when a put fails', async () => {
    const abort = new AbortController();
    abort.abort(new Error('no'));
    await expect(store.put('a/b', Buffer.from('x'), abort.signal)).rejects.toThrow('no');
    await expect(leftoversIn(store.directory)).resolves.toEqual([]);
  });

  it('is unavailable, not empty, when its directory is away', async () => {
    await store.put('a/b', Buffer.from('x'));
    const away = `${store.directory}-away`;
    await rename(store.directory, away);
    // An unmounted disk leaves an empty directory behind.
    await mkdir(store.directory);
    const unavailable = { code: 'unavailable', hint: expect.stringContaining('HANGAR_BLOB_STORE') };
    await expect(store.get('a/b')).rejects.toMatchObject(unavailable);
    await expect(store.exists('a/b')).rejects.toMatchObject(unavailable);
    await expect(store.delete('a/b')).rejects.toMatchObject(unavailable);
    await expect(store.put('a/c', Buffer.from('x'))).rejects.toMatchObject(unavailable);
    await expect(store.list('')[Symbol.asyncIterator]().next()).rejects.toMatchObject(unavailable);
    await expect(readdir(store.directory)).resolves.toEqual([]);
    await rm(store.directory, { recursive: true });
    await rename(away, store.directory);
    await expect(store.exists('a/b')).resolves.toBe(true);
  });

  it('opens again with what it held, and refuses a directory of other files', async () => {
    await store.put('a', Buffer.from('x'));
    await expect((await openFsBlobStore(store.directory)).exists('a')).resolves.toBe(true);
    const other = `${store.directory}-other`;
    await mkdir(other);
    await writeFile(join(other, 'thesis.txt'), 'mine');
    await expect(openFsBlobStore(other)).rejects.toMatchObject({ code: 'invalid' });
    await expect(readdir(other)).resolves.toEqual(['thesis.txt']);
  });

  it('refuses a key under a blob and a blob over a folder', async () => {
    await store.put('a', Buffer.from('x'));
    await store.put('b/c', Buffer.from('x'));
    await expect(store.put('a/b', Buffer.from('y'))).rejects.toMatchObject({ code: 'invalid' });
    await expect(store.put('b', Buffer.from('y'))).rejects.toMatchObject({ code: 'invalid' });
    await expect(leftoversIn(store.directory)).resolves.toEqual([]);
  });

  it('removes folders that became empty and lists past links to nowhere', async () => {
    await store.put('a/b/c', Buffer.from('x'));
    await symlink('nowhere', join(store.directory, 'dangling'));
    await store.delete('a/b/c');
    await expect(readdir(store.directory)).resolves.toEqual(['.hangar-blob-store', 'dangling']);
    for await (const { key } of store.list('')) throw new Error(`listed ${key}`);
  });

  it('writes files that only their owner can read', async () => {
    await store.put('a/b', Buffer.from('x'));
    expect((await stat(join(store.directory, 'a/b'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(store.directory, 'a'))).mode & 0o777).toBe(0o700);
  });
});
