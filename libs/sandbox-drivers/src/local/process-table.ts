import { readdir, readFile } from 'node:fs/promises';
import { errorCode } from './error-code.ts';

/**
 * Reads `/proc`. A pid alone is never a name for a process: it is used again after the process
 * ended, so every identity here is a pid with its start time.
 */
export interface ProcessIdentity {
  pid: number;
  /** Clock ticks after boot (field 22 of /proc/<pid>/stat). */
  startTicks: number;
}

export interface ProcessEntry extends ProcessIdentity {
  parent: number;
  group: number;
  session: number;
  state: string;
}

const parseStat = (pid: number, text: string): ProcessEntry | null => {
  // The command name is in parentheses and may itself contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, parent, group, session] = fields;
  const startTicks = Number(fields[19]);
  if (state === undefined || !Number.isFinite(startTicks)) return null;
  return {
    pid,
    startTicks,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    state,
  };
};

/** Null when there is none; throws when that cannot be known, for what is unknown is not gone [S5]. */
export const readProcess = async (pid: number): Promise<ProcessEntry | null> => {
  try {
    return parseStat(pid, await readFile(`/proc/${pid}/stat`, 'latin1'));
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(errorCode(error) ?? '')) return null;
    throw error;
  }
};

/** False for a zombie: it holds a pid but runs nothing. */
export const isAlive = async (identity: ProcessIdentity): Promise<boolean> => {
  const entry = await readProcess(identity.pid);
  return entry !== null && entry.startTicks === identity.startTicks && entry.state !== 'Z';
};

export const listProcesses = async (): Promise<ProcessEntry[]> => {
  const names = await readdir('/proc').catch((): string[] => []);
  const entries = await Promise.all(
    names.filter((name) => /^\d+$/.test(name)).map((name) => readProcess(Number(name))),
  );
  return entries.filter((entry) => entry !== null);
};

/** Whether the process was started with `name=value` in its environment. */
export const hasMarker = async (pid: number, name: string, value: string): Promise<boolean> => {
  try {
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1');
    return `\0${environment}`.includes(`\0${name}=${value}\0`);
  } catch {
    return false;
  }
};

export const sendSignal = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
};

/** Rounds of looking for survivors; a fork bomb needs several, more do not help. */
const SWEEP_ROUNDS_MAX = 25;

/**
 * Kills every process that carries the marker, that a group in `groups` holds, or that descends
 * from such a process, until a round finds none. A process that cleared its environment and left
 * its group and its parents is not found; only the end of the whole sandbox reaches it.
 * Returns false when some were still there after the last round.
 */
export const sweepProcesses = async (
  marker: { name: string; value: string },
  groups: number[] = [],
  spared: (entry: ProcessEntry) => boolean = () => false,
): Promise<boolean> => {
  for (let round = 0; round < SWEEP_ROUNDS_MAX; round++) {
    const victims = await findMarked(marker, groups, spared);
    if (victims.length === 0) return true;
    for (const victim of victims) sendSignal(victim.pid, 'SIGSTOP');
    for (const victim of victims) sendSignal(victim.pid, 'SIGKILL');
    // The kernel needs a moment to take a killed process off the table.
    await new Promise((resolve) => setTimeout(resolve, 2 + round));
  }
  return false;
};

const findMarked = async (
  marker: { name: string; value: string },
  groups: number[],
  spared: (entry: ProcessEntry) => boolean,
): Promise<ProcessEntry[]> => {
  const living = (await listProcesses()).filter(
    (entry) => entry.state !== 'Z' && entry.pid !== process.pid && !spared(entry),
  );
  const found = new Set<number>();
  await Promise.all(
    living.map(async (entry) => {
      const grouped = groups.includes(entry.group) || groups.includes(entry.session);
      if (grouped || (await hasMarker(entry.pid, marker.name, marker.value))) found.add(entry.pid);
    }),
  );
  for (let grown = true; grown;) {
    const children = living.filter((entry) => !found.has(entry.pid) && found.has(entry.parent));
    for (const child of children) found.add(child.pid);
    grown = children.length > 0;
  }
  return living.filter((entry) => found.has(entry.pid));
};
