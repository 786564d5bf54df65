import {
  chmodSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { isObjectId } from '../archive/ref-names.ts';
import { joinPath, parentOf, toBytes, toFs, toReport } from './byte-path.ts';
import { readConfig, serialiseConfig, type ConfigEntry } from './config-file.ts';
import { isNeverKept, mergeConfig } from './configuration.ts';
import { isOperationFile, type GitState, type StateFile } from './git-state.ts';
import type { RestoreContext } from './restore.ts';
import { demandRealParents } from './restore-nested.ts';
import { objectTypes } from './roots.ts';

/** Ignore rules and attributes: the steps that look for leftovers need them. */
export function restoreInfoFiles(context: RestoreContext, state: GitState): void {
  const { commonDirectory } = context.repository;
  const recorded = new Map(state.files.map((file) => [file.path, file]));
  for (const path of ['info/exclude', 'info/attributes', 'info/sparse-checkout']) {
    const file = recorded.get(path);
    rmSync(toFs(joinPath(commonDirectory, path)), { force: true });
    if (file) writeStateFile(commonDirectory, file);
  }
  const exclude = recorded.get('info/exclude')?.content ?? '';
  writeFileSync(toFs(joinPath(context.shadow.directory, 'info/exclude')), exclude, 'latin1');
}

/** Operation in progress, logs, configuration, and last of all the hooks (R5, R9). */
export async function restoreState(
  context: RestoreContext,
  state: GitState,
  refs: ReadonlySet<string>,
  incomplete: boolean,
): Promise<void> {
  const { gitDirectory, commonDirectory } = context.repository;
  for (const name of readdirSync(toFs(gitDirectory), { encoding: 'latin1' })) {
    if (!isOperationFile(name)) continue;
    rmSync(toFs(joinPath(gitDirectory, name)), { recursive: true, force: true });
  }
  for (const path of ['logs/HEAD', 'logs/refs/heads', 'logs/refs/stash', 'rr-cache']) {
    rmSync(toFs(joinPath(commonDirectory, path)), { recursive: true, force: true });
  }
  const logs = state.files.filter((file) => file.path.startsWith('logs/'));
  if (incomplete) await dropUnknownLines(context, logs);
  for (const file of state.files) {
    if (file.path.startsWith('hooks/') || file.path.startsWith('info/')) continue;
    if (file.path.startsWith('logs/refs/') && !refs.has(file.path.slice('logs/'.length))) continue;
    writeStateFile(gitDirectory, file);
  }
  restoreConfig(context, state);
  restoreHooks(context, state);
}

/** A reflog must not name commits that are not to be had: fsck would call it broken. */
async function dropUnknownLines(context: RestoreContext, logs: StateFile[]): Promise<void> {
  const idsOf = (line: string): string[] =>
    line.split(' ', 2).filter((id) => isObjectId(id) && !/^0+$/.test(id));
  const all = logs.flatMap((file) => file.content.split('\n').flatMap(idsOf));
  const types = await objectTypes(context.shadow, all);
  for (const file of logs) {
    const lines = file.content.split('\n');
    const kept = lines.filter((line) => idsOf(line).every((id) => types.has(id)));
    if (kept.length < lines.length) {
      const reason = 'entries of commits that are not to be had are left out';
      context.losses.push({ path: toReport(`.git/${file.path}`), reason });
    }
    file.content = kept.join('\n');
  }
}

function writeStateFile(root: string, file: StateFile): void {
  demandRealParents(root, file.path);
  const full = toFs(joinPath(root, file.path));
  mkdirSync(toFs(joinPath(root, parentOf(file.path))), { recursive: true });
  rmSync(full, { recursive: true, force: true });
  if (file.link) {
    symlinkSync(toFs(file.content), full);
    return;
  }
  writeFileSync(full, toBytes(file.content), { flag: 'wx' });
  chmodSync(full, file.mode & 0o777);
}

function restoreConfig(context: RestoreContext, state: GitState): void {
  const { gitDirectory, commonDirectory } = context.repository;
  const path = joinPath(commonDirectory, 'config');
  const fresh = readConfig(path).entries;
  const merged = mergeConfig(fresh, state.config.filter(isSound));
  const worktree = (state.config_worktree ?? []).filter(isSound);
  const worktreePath = joinPath(gitDirectory, 'config.worktree');
  rmSync(toFs(worktreePath), { force: true });
  const own = merged.filter((entry) => entry.key !== 'extensions.worktreeconfig');
  if (state.config_worktree !== null) {
    const safe = worktree.filter((entry) => !isNeverKept(entry));
    writeFileSync(toFs(worktreePath), serialiseConfig(safe));
    own.push({ key: 'extensions.worktreeconfig', value: 'true' });
  }
  const versioned = own.map((entry) =>
    entry.key === 'core.repositoryformatversion' && own.some((one) => isExtension(one.key))
      ? { ...entry, value: '1' }
      : entry,
  );
  writeFileSync(toFs(`${path}.hangar`), serialiseConfig(versioned));
  rmSync(toFs(`${path}.lock`), { force: true });
  renameSync(toFs(`${path}.hangar`), toFs(path));
}

const isExtension = (key: string): boolean => key.startsWith('extensions.');

/** Keys that git can read back; anything else would break every later git command. */
const isSound = (entry: ConfigEntry): boolean =>
  typeof entry.key === 'string' &&
  /^[a-z0-9-]+\.(?:[^\n\0]*\.)?[a-z][a-z0-9-]*$/.test(entry.key) &&
  (entry.value === null || (typeof entry.value === 'string' && !entry.value.includes('\0')));

function restoreHooks(context: RestoreContext, state: GitState): void {
  const { commonDirectory } = context.repository;
  const directory = joinPath(commonDirectory, 'hooks');
  const recorded = state.files.filter((file) => file.path.startsWith('hooks/'));
  if (recorded.length > 0) mkdirSync(toFs(directory), { recursive: true });
  try {
    for (const name of readdirSync(toFs(directory), { encoding: 'latin1' })) {
      const kept = name.endsWith('.sample') || recorded.some((one) => one.path === `hooks/${name}`);
      if (!kept) rmSync(toFs(joinPath(directory, name)), { recursive: true, force: true });
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  for (const file of recorded) {
    try {
      writeStateFile(commonDirectory, file);
    } catch (error) {
      const reason = `the hook cannot be written: ${(error as Error).message}`;
      context.losses.push({ path: toReport(`.git/${file.path}`), reason });
    }
  }
}
