import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sendSignal } from './process-table.ts';
import { errorCode } from './error-code.ts';

/** Looks at whether cgroups can hold a sandbox here, and makes one per sandbox where they can. */

type Controller = 'memory' | 'pids' | 'cpu';
const CONTROLLERS: readonly Controller[] = ['memory', 'pids', 'cpu'];

export interface CgroupHost {
  version: 1 | 2;
  /** Directory in which a sandbox's group is made, by controller (one and the same in version 2). */
  parents: Partial<Record<Controller, string>>;
}

export interface CgroupLimits {
  memoryMb?: number | undefined;
  cpus?: number | undefined;
  pids?: number | undefined;
}

const CPU_PERIOD_US = 100_000;
/** Rounds of killing what is in a group before its directory can go. */
const REMOVE_ROUNDS_MAX = 100;
const REMOVE_ROUND_MS = 20;

const readText = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');

const canMakeGroupIn = async (parent: string): Promise<boolean> => {
  const path = join(parent, `hangar-probe-${process.pid}`);
  try {
    await mkdir(path);
    await rmdir(path);
    return true;
  } catch {
    return false;
  }
};

interface CgroupMount {
  root: string;
  path: string;
  type: string;
  options: string[];
}

const parseMounts = (mountinfo: string): CgroupMount[] =>
  mountinfo.split('\n').flatMap((line) => {
    const [left, right] = line.split(' - ');
    const [type, , options] = right?.split(' ') ?? [];
    const [, , , root, path] = left?.split(' ') ?? [];
    if (!type?.startsWith('cgroup') || !root || !path || options === undefined) return [];
    return [{ root, path, type, options: options.split(',') }];
  });

/** Own groups as `controllers -> path`; version 2 has the empty string as controllers. */
const parseOwn = (text: string): Map<string, string> =>
  new Map(
    text.split('\n').flatMap((line) => {
      const [, controllers, ...path] = line.split(':');
      if (controllers === undefined) return [];
      return controllers.split(',').map((name): [string, string] => [name, path.join(':')]);
    }),
  );

const locate = (mount: CgroupMount, own: string): string =>
  join(
    mount.path,
    mount.root !== '/' && own.startsWith(mount.root) ? own.slice(mount.root.length) : own,
  );

/** `self` is the directory in /proc of the process whose groups count. */
export const detectCgroups = async (self = '/proc/self'): Promise<CgroupHost | null> => {
  const mounts = parseMounts(await readText(join(self, 'mountinfo')));
  const own = parseOwn(await readText(join(self, 'cgroup')));
  const parents: Partial<Record<Controller, string>> = {};
  for (const controller of CONTROLLERS) {
    const mount = mounts.find(
      (found) => found.type === 'cgroup' && found.options.includes(controller),
    );
    const path = own.get(controller);
    if (!mount || path === undefined) continue;
    const parent = locate(mount, path);
    if (await canMakeGroupIn(parent)) parents[controller] = parent;
  }
  if (Object.keys(parents).length > 0) return { version: 1, parents };
  const unified = mounts.find((found) => found.type === 'cgroup2');
  return unified ? detectUnified(unified, own.get('') ?? '/') : null;
};

/**
 * A group with processes cannot hand its controllers to children (the "no internal processes"
 * rule), so the sandbox becomes a sibling of hangar's own group or of one further up.
 */
const detectUnified = async (mount: CgroupMount, own: string): Promise<CgroupHost | null> => {
  let directory = locate(mount, own);
  while (directory.startsWith(mount.path)) {
    const enabled = (await readText(join(directory, 'cgroup.subtree_control'))).trim().split(' ');
    const usable = CONTROLLERS.filter((controller) => enabled.includes(controller));
    if (usable.length > 0 && (await canMakeGroupIn(directory))) {
      const parents = Object.fromEntries(usable.map((controller) => [controller, directory]));
      return { version: 2, parents };
    }
    if (directory === mount.path) break;
    directory = dirname(directory);
  }
  return null;
};

/** Makes the groups of one sandbox and sets its limits; returns their directories. */
export const createCgroups = async (
  host: CgroupHost,
  name: string,
  limits: CgroupLimits,
): Promise<string[]> => {
  const directories = new Map<Controller, string>();
  for (const [controller, parent] of Object.entries(host.parents)) {
    const directory = join(parent, name);
    await mkdir(directory, { recursive: true });
    directories.set(controller as Controller, directory);
  }
  const set = async (controller: Controller, file: string, value: number | string) => {
    const directory = directories.get(controller);
    if (directory) await writeFile(join(directory, file), String(value));
  };
  const { memoryMb, cpus, pids } = limits;
  const isUnified = host.version === 2;
  if (memoryMb !== undefined) {
    const file = isUnified ? 'memory.max' : 'memory.limit_in_bytes';
    await set('memory', file, memoryMb * 1024 * 1024);
    // Swap would only make the limit slow instead of absent; not every kernel counts it.
    if (isUnified) await set('memory', 'memory.swap.max', 0).catch(() => undefined);
  }
  if (pids !== undefined) await set('pids', 'pids.max', pids);
  if (cpus !== undefined) {
    const quota = Math.round(cpus * CPU_PERIOD_US);
    if (isUnified) await set('cpu', 'cpu.max', `${quota} ${CPU_PERIOD_US}`);
    else {
      await set('cpu', 'cpu.cfs_period_us', CPU_PERIOD_US);
      await set('cpu', 'cpu.cfs_quota_us', quota);
    }
  }
  return [...new Set(directories.values())];
};

/** Where the groups of a sandbox would be, for one whose record does not say. */
export const expectedCgroups = async (name: string): Promise<string[]> => {
  const host = await detectCgroups();
  return [...new Set(Object.values(host?.parents ?? {}).map((parent) => join(parent, name)))];
};

/** The name of a sandbox's group in each hierarchy, by its mark. */
export const cgroupName = (mark: string): string => `hangar-${mark}`;

/** Kills what is in the groups and removes them; false when something would not die. */
export const removeCgroups = async (directories: string[]): Promise<boolean> => {
  const removed = await Promise.all(directories.map(removeCgroup));
  return removed.every(Boolean);
};

const removeCgroup = async (directory: string): Promise<boolean> => {
  for (let round = 0; round < REMOVE_ROUNDS_MAX; round++) {
    const pids = (await readText(join(directory, 'cgroup.procs'))).split('\n').filter(Boolean);
    for (const pid of pids) sendSignal(Number(pid), 'SIGKILL');
    try {
      await rmdir(directory);
      return true;
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return true;
    }
    await new Promise((resolve) => setTimeout(resolve, REMOVE_ROUND_MS));
  }
  return false;
};
