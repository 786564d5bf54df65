import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { SandboxPaths } from '../sandbox-driver.ts';
import type { ProcessIdentity } from './process-table.ts';
import { errorCode } from './error-code.ts';

/** What the driver knows about one sandbox, in `<state>/sandboxes/<id>/record.json`. */
export interface SandboxRecord {
  version: 1;
  id: string;
  sessionId: string;
  instance: string;
  token: string;
  createdAt: string;
  phase: 'creating' | 'ready';
  isolation: 'namespaces' | 'none';
  /** The kernel's boot: after another one no process of the record exists. */
  bootId: string;
  /** The process that makes it; when that is gone, a record in `creating` is left-over. */
  creator: ProcessIdentity;
  /** The host uid of its processes, when hangar runs as root. */
  uid: number | null;
  /** PID 1 of the sandbox as the host sees it; null until it was started. */
  init: ProcessIdentity | null;
  /** The process that was started: bubblewrap's monitor, or the same as init. */
  launcher: ProcessIdentity | null;
  cgroups: string[];
  paths: SandboxPaths;
}

export type FoundRecord =
  | { state: 'found'; record: SandboxRecord }
  | { state: 'absent' }
  | { state: 'unreadable' };

/** Where the files of one sandbox are, on the host. */
export interface SandboxFiles {
  directory: string;
  record: string;
  /** Mount points on the way into the sandbox; a file system of its own while it starts. */
  stage: string;
  socket: string;
  home: string;
  temporary: string;
  workspace: string;
  runs: string;
  startScript: string;
  /** What is mounted in the stage, as mount reads it. */
  stageTable: string;
  startLog: string;
  bwrapArguments: string;
  bwrapStatus: string;
  seccomp: string;
  config: string;
  gitconfig: string;
  passwd: string;
  group: string;
}

export const sandboxesDirectory = (stateDirectory: string): string =>
  join(stateDirectory, 'sandboxes');

/**
 * What the machine knows a sandbox by: the mark of its processes and the name of its groups. It
 * says whose it is, because another hangar on this machine, with a state directory of its own, may
 * have a sandbox of the same id.
 */
export const sandboxMark = (stateDirectory: string, id: string): string =>
  `${createHash('sha256').update(stateDirectory).digest('hex').slice(0, 8)}-${id}`;

export const sandboxFiles = (directory: string): SandboxFiles => ({
  directory,
  record: join(directory, 'record.json'),
  stage: join(directory, 'stage'),
  socket: join(directory, 'socket'),
  home: join(directory, 'disk', 'home'),
  temporary: join(directory, 'disk', 'tmp'),
  workspace: join(directory, 'disk', 'workspace'),
  runs: join(directory, 'disk', 'runs'),
  startScript: join(directory, 'start.sh'),
  stageTable: join(directory, 'stage.fstab'),
  startLog: join(directory, 'start.log'),
  bwrapArguments: join(directory, 'bwrap-arguments'),
  bwrapStatus: join(directory, 'bwrap-status.json'),
  seccomp: join(directory, 'seccomp.bpf'),
  config: join(directory, 'sandboxd.json'),
  gitconfig: join(directory, 'gitconfig'),
  passwd: join(directory, 'passwd'),
  group: join(directory, 'group'),
});

const isIdentity = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Number.isInteger((value as ProcessIdentity).pid) &&
  Number.isFinite((value as ProcessIdentity).startTicks);

/** A record from another version or a torn one is `unreadable`: it is kept, shown and removable. */
const isRecord = (value: unknown): value is SandboxRecord => {
  if (typeof value !== 'object' || value === null) return false;
  const record = value as SandboxRecord;
  const texts = [record.id, record.sessionId, record.instance, record.token, record.bootId];
  return (
    record.version === 1 &&
    texts.every((text) => typeof text === 'string') &&
    (record.phase === 'creating' || record.phase === 'ready') &&
    (record.isolation === 'namespaces' || record.isolation === 'none') &&
    isIdentity(record.creator) &&
    (record.init === null || isIdentity(record.init)) &&
    (record.launcher === null || isIdentity(record.launcher)) &&
    Array.isArray(record.cgroups) &&
    typeof record.paths === 'object'
  );
};

export const readRecord = async (directory: string): Promise<FoundRecord> => {
  let text: string;
  try {
    text = await readFile(sandboxFiles(directory).record, 'utf8');
  } catch (error) {
    return { state: errorCode(error) === 'ENOENT' ? 'absent' : 'unreadable' };
  }
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? { state: 'found', record: value } : { state: 'unreadable' };
  } catch {
    return { state: 'unreadable' };
  }
};

export const writeRecord = async (directory: string, record: SandboxRecord): Promise<void> => {
  const path = sandboxFiles(directory).record;
  const temporary = `${path}.${randomUUID()}`;
  await writeFile(temporary, JSON.stringify(record, null, 2), { mode: 0o600 });
  await rename(temporary, path);
};

/**
 * Makes the sandbox's directory with its record in one step, so that of several creators one
 * wins and none ever sees a directory without a record. False when it is there already.
 */
export const claimDirectory = async (
  directory: string,
  record: SandboxRecord,
): Promise<boolean> => {
  const parent = join(directory, '..');
  const prepared = join(parent, `.new-${randomUUID()}`);
  await mkdir(prepared, { recursive: true, mode: 0o700 });
  try {
    await writeRecord(prepared, record);
    await rename(prepared, directory);
    return true;
  } catch (error) {
    await rm(prepared, { recursive: true, force: true });
    if (['ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '')) return false;
    throw error;
  }
};

export const readBootId = async (): Promise<string> =>
  (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
