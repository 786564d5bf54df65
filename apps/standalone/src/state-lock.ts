import { readFile, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { HangarError } from '@hangar/contracts';

/** Names of locks are `<pid>:<start time of the process>`, so that a reused pid is not a holder. */
async function identity(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return process.platform === 'linux' ? null : `${pid}:0`;
  return `${pid}:${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
}

/**
 * One hangar for a state directory. A lock left by a process that was killed is taken over.
 * Throws `conflict` while another one runs.
 */
export async function lockState(directory: string): Promise<() => Promise<void>> {
  const path = join(directory, 'lock');
  const mine = (await identity(process.pid)) ?? `${process.pid}:0`;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      await symlink(mine, path);
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = await readlink(path).catch(() => '');
    const pid = Number(holder.split(':')[0]);
    if (pid && (await identity(pid)) === holder)
      throw new HangarError('conflict', `hangar already runs here (process ${pid})`, {
        hint: 'Use it, stop it with Ctrl-C or kill, or set HANGAR_STATE to another directory.',
      });
    await rm(path, { force: true });
  }
  throw new HangarError('conflict', `the lock ${path} keeps coming back`);
}
