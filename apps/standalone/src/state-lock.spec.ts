import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { lockState } from './state-lock.ts';

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hangar-lock-'));
  path = join(directory, 'lock');
});
afterEach(() => rm(directory, { recursive: true }));

/** A pid that no process has any more, and the name that its lock had. */
async function deadHolder(): Promise<string> {
  const child = spawn('true', { stdio: 'ignore' });
  await once(child, 'exit');
  return `${child.pid}:12345`;
}

/** Takes the lock, and gives it back. */
const free = async (where: string): Promise<void> => {
  const unlock = await lockState(where);
  await unlock();
};

describe('the lock of a state directory', () => {
  it('is one process’s, and free again after it', async () => {
    const unlock = await lockState(directory);
    await expect(lockState(directory)).rejects.toMatchObject({
      code: 'conflict',
      message: `hangar already runs here (process ${process.pid})`,
    });
    await unlock();
    expect(await readdir(directory)).toEqual([]);
    await free(directory);
  });

  it('is taken over from a process that was killed', async () => {
    await symlink(await deadHolder(), path);
    const unlock = await lockState(directory);
    expect(await readlink(path)).toContain(`${process.pid}:`);
    await unlock();
  });

  it('is taken over when another process has the pid now', async () => {
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    await symlink(`${child.pid}:1`, path);
    const unlock = await lockState(directory);
    expect(await readlink(path)).toContain(`${process.pid}:`);
    await unlock();
    child.kill('SIGKILL');
    await once(child, 'exit');
  });

  it('is respected while the process that holds it lives', async () => {
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    const stat = await readFile(`/proc/${child.pid}/stat`, 'utf8');
    const holder = `${child.pid}:${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
    await symlink(holder, path);
    await expect(lockState(directory)).rejects.toMatchObject({ code: 'conflict' });
    expect(await readlink(path)).toBe(holder);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await free(directory);
  });

  it('is one’s alone, however many find the same dead holder at once', async () => {
    for (let round = 0; round < 20; round += 1) {
      await symlink(await deadHolder(), path);
      const tries = await Promise.allSettled(Array.from({ length: 8 }, () => lockState(directory)));
      const won = tries.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      expect(won).toHaveLength(1);
      await won[0]!();
    }
    expect(await readdir(directory)).toEqual([]);
  });

  it('survives a take-over that was cut, and something that is no lock', async () => {
    await symlink(await deadHolder(), `${path}.taking`);
    await writeFile(path, 'not a lock');
    await free(directory);
    expect(await readdir(directory)).toEqual([]);
  });

  it('of another one is not removed by an unlock that comes late', async () => {
    const unlock = await lockState(directory);
    await rm(path);
    await symlink('1:1', path);
    await unlock();
    expect(await readlink(path)).toBe('1:1');
  });
});
