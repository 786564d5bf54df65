import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createCgroups, detectCgroups } from './cgroup-limits.ts';

/** A directory that looks like a cgroup file system; this machine's own may be the other version. */
describe('where a sandbox gets its cgroups', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'hangar-cgroup-'));
    await mkdir(join(root, 'self'));
  });
  afterEach(() => rm(root, { recursive: true }));
  const self = async (mountinfo: string, cgroup: string): Promise<string> => {
    await writeFile(join(root, 'self', 'mountinfo'), mountinfo);
    await writeFile(join(root, 'self', 'cgroup'), cgroup);
    return join(root, 'self');
  };
  const read = (...path: string[]): Promise<string> => readFile(join(root, ...path), 'utf8');

  it('version 2: beside the own group, where the controllers are handed down', async () => {
    const own = join(root, 'fs', 'system.slice', 'hangar.service');
    await mkdir(own, { recursive: true });
    await writeFile(join(own, 'cgroup.subtree_control'), '');
    await writeFile(join(own, '..', 'cgroup.subtree_control'), 'cpu memory pids\n');
    const mounts = `30 23 0:26 / ${root}/fs rw,nosuid shared:4 - cgroup2 cgroup2 rw\n`;
    const host = await detectCgroups(await self(mounts, '0::/system.slice/hangar.service\n'));
    const parent = join(root, 'fs', 'system.slice');
    expect(host).toEqual({ version: 2, parents: { memory: parent, pids: parent, cpu: parent } });
    const limits = { memoryMb: 512, cpus: 1.5, pids: 100 };
    expect(await createCgroups(host!, 'hangar-sbx-1', limits)).toEqual([
      join(parent, 'hangar-sbx-1'),
    ]);
    const files = ['memory.max', 'memory.swap.max', 'pids.max', 'cpu.max'];
    const group = ['fs', 'system.slice', 'hangar-sbx-1'];
    expect(await Promise.all(files.map((file) => read(...group, file)))).toEqual([
      String(512 * 1024 * 1024),
      '0',
      '100',
      '150000 100000',
    ]);
  });

  it('version 1: one group for each controller, in the own one', async () => {
    for (const name of ['memory', 'pids'])
      await mkdir(join(root, name, 'own'), { recursive: true });
    const mounts = ['memory', 'pids', 'cpu']
      .map((name) => `31 23 0:27 / ${root}/${name} rw - cgroup cgroup rw,${name}\n`)
      .join('');
    const host = await detectCgroups(await self(mounts, '4:memory:/own\n8:pids:/own\n1:cpu:/\n'));
    expect(host).toEqual({
      version: 1,
      parents: { memory: join(root, 'memory/own'), pids: join(root, 'pids/own') },
    });
    await createCgroups(host!, 'hangar-sbx-1', { memoryMb: 1, cpus: 2, pids: 3 });
    expect(await read('memory/own/hangar-sbx-1/memory.limit_in_bytes')).toBe('1048576');
    expect(await read('pids/own/hangar-sbx-1/pids.max')).toBe('3');
  });

  it('none where nothing can be made or nothing is handed down', async () => {
    await mkdir(join(root, 'fs'));
    await writeFile(join(root, 'fs', 'cgroup.subtree_control'), '');
    const mounts = `30 23 0:26 / ${root}/fs rw - cgroup2 cgroup2 rw\n`;
    expect(await detectCgroups(await self(mounts, '0::/\n'))).toBeNull();
    expect(await detectCgroups(await self('', ''))).toBeNull();
  });
});
