import { chmod, lstat, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { HangarError } from '@hangar/contracts';
import { cgroupName, expectedCgroups, removeCgroups } from './cgroup-limits.ts';
import { isAlive, sendSignal, sweepProcesses, type ProcessIdentity } from './process-table.ts';
import {
  readBootId,
  readRecord,
  sandboxesDirectory,
  sandboxFiles,
  sandboxMark,
  type SandboxRecord,
} from './record.ts';
import { releaseUids } from './uid-slots.ts';
import { MARKER } from './wire/protocol.ts';

/** The kernel takes this long at most to end a killed process; longer is a stuck disk. */
const DEATH_MS = 10_000;
const DEATH_POLL_MS = 5;
/** Depth to which a tree is made writable before it is removed. */
const TREE_DEPTH_MAX = 200;

/** Ends every process and removes every trace; quiet when there is nothing. */
export const destroySandbox = async (stateDirectory: string, id: string): Promise<void> => {
  const directory = join(sandboxesDirectory(stateDirectory), id);
  const found = await readRecord(directory);
  const record = found.state === 'found' ? found.record : null;
  if (record && record.bootId === (await readBootId())) await killProcesses(record);
  // Also what the record does not name: a crash between the start and the record.
  const mark = sandboxMark(stateDirectory, id);
  const isSwept = await sweepProcesses({ name: MARKER.sandbox, value: mark });
  const known = record?.cgroups ?? [];
  const isEmpty = await removeCgroups(
    known.length > 0 ? known : await expectedCgroups(cgroupName(mark)),
  );
  if (!isSwept || !isEmpty) {
    throw new HangarError('unavailable', `Some processes of sandbox ${id} would not die.`, {
      hint: 'Try again; a process that waits for a disk dies when the disk answers.',
    });
  }
  await removeSessionDirectory(stateDirectory, id, record);
  await releaseUids(stateDirectory, id);
  // The directory goes last: what a crash in between leaves of it can still be destroyed.
  const files = sandboxFiles(directory);
  await removeTree(join(directory, 'disk'));
  await removeTree(files.stage);
  await removeTree(directory);
};

const killProcesses = async (record: SandboxRecord): Promise<void> => {
  for (const identity of [record.init, record.launcher]) {
    if (identity && (await isAlive(identity))) sendSignal(identity.pid, 'SIGKILL');
  }
  for (const identity of [record.init, record.launcher]) if (identity) await awaitDeath(identity);
};

const awaitDeath = async (identity: ProcessIdentity): Promise<void> => {
  const deadline = Date.now() + DEATH_MS;
  while (Date.now() < deadline && (await isAlive(identity))) {
    await new Promise((done) => setTimeout(done, DEATH_POLL_MS));
  }
};

/** A session's workspace goes with the sandbox that owns it, and not with an earlier one. */
const removeSessionDirectory = async (
  stateDirectory: string,
  id: string,
  record: SandboxRecord | null,
): Promise<void> => {
  if (record?.isolation !== 'none') return;
  const sessions = join(sandboxesDirectory(stateDirectory), 'by-session');
  const directory = join(sessions, record.sessionId);
  const owner = await readFile(join(directory, 'owner'), 'utf8').catch(() => '');
  if (owner === id) await removeTree(directory);
};

/** Removes a tree whose owner made parts of it read-only. Links are removed, never followed. */
const removeTree = async (path: string): Promise<void> => {
  await rm(path, { recursive: true, force: true }).catch(async () => {
    await makeWritable(path, 0);
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  });
};

const makeWritable = async (path: string, depth: number): Promise<void> => {
  const found = await lstat(path).catch(() => null);
  if (!found?.isDirectory() || depth > TREE_DEPTH_MAX) return;
  await chmod(path, 0o700).catch(() => undefined);
  for (const name of await readdir(path).catch((): string[] => [])) {
    await makeWritable(join(path, name), depth + 1);
  }
};
