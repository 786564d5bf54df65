import { readFile, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { HangarError } from '@hangar/contracts';

/** Others that take a dead one's lock over hold us up for this long at most: 50 times 20 ms. */
const ATTEMPTS_MAX = 50;
const ATTEMPT_PAUSE_MS = 20;

/** States of a process that has ended and that nobody has waited for yet. */
const ENDED = /^[ZX]$/;

/** Names of locks are `<pid>:<start time of the process>`, so that a reused pid is not a holder. */
async function identity(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return process.platform !== 'linux' && isAlive(pid) ? `${pid}:0` : null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ENDED.test(fields[0] ?? '') ? null : `${pid}:${fields[19]}`;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * One hangar for a state directory. A lock left by a process that was killed is taken over.
 * Throws `conflict` while another one runs.
 */
export async function lockState(directory: string): Promise<() => Promise<void>> {
  const path = join(directory, 'lock');
  const mine = (await identity(process.pid)) ?? `${process.pid}:0`;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    if (await make(path, mine)) return () => unlock(path, mine);
    const holder = await holderOf(path);
    if (holder !== null && (await isHeld(holder)))
      throw new HangarError('conflict', `hangar already runs here (process ${pidOf(holder)})`, {
        hint: 'Use it, stop it with Ctrl-C or kill, or set HANGAR_STATE to another directory.',
      });
    await removeDead(path, mine);
  }
  throw new HangarError('conflict', `the lock ${path} keeps coming back`);
}

/**
 * Only who holds the second lock removes the first, and looks again before: of two that found the
 * same dead holder, the slower one must not remove the lock of the faster one.
 */
async function removeDead(path: string, mine: string): Promise<void> {
  const taking = `${path}.taking`;
  if (!(await make(taking, mine))) {
    const other = await holderOf(taking);
    if (other !== null && !(await isHeld(other))) await rm(taking, { force: true });
    await delay(ATTEMPT_PAUSE_MS);
    return;
  }
  try {
    const holder = await holderOf(path);
    if (holder !== null && !(await isHeld(holder))) await rm(path, { force: true });
  } finally {
    await rm(taking, { force: true });
  }
}

async function unlock(path: string, mine: string): Promise<void> {
  if ((await holderOf(path)) === mine) await rm(path, { force: true });
}

async function make(path: string, mine: string): Promise<boolean> {
  try {
    await symlink(mine, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** null: there is none. What is no lock of ours counts as one that nobody holds. */
async function holderOf(path: string): Promise<string | null> {
  try {
    return await readlink(path);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : '';
  }
}

const pidOf = (holder: string): number => Number(holder.split(':')[0]);

async function isHeld(holder: string): Promise<boolean> {
  const pid = pidOf(holder);
  return pid > 0 && (await identity(pid)) === holder;
}
