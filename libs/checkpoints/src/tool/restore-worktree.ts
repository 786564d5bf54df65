import {
  chmodSync,
  existsSync,
  lstatSync,
  lutimesSync,
  readdirSync,
  rmSync,
  utimesSync,
} from 'node:fs';
import { joinPath, parentOf, splitNul, toBytes, toFs, toReport, toText } from './byte-path.ts';
import { extractPart, hasPart } from './extract.ts';
import type { GitState } from './git-state.ts';
import { readStat } from './cached-stat.ts';
import { MODE_GITLINK, ZERO_STAT, type CachedStat, type IndexEntry } from './index-file.ts';
import { restoreNested } from './restore-nested.ts';
import type { RestoreContext, RestoreHooks } from './restore.ts';
import { runProcess } from './run-process.ts';
import { cleanEnvironment, gitOrThrow, type Shadow } from './shadow.ts';
import { ToolError } from './tool-error.ts';
import { scanProven, scanTracked } from './tracked-files.ts';
import { listTreeLike, type TreeFile, type TreeList } from './tree-list.ts';
import { listUntracked, scanUntracked } from './untracked-files.ts';

const SECOND = 1_000_000_000;

/** Files of the checkout: tracked ones raw from their tree, then nested and untracked ones. */
export async function restoreWorktree(
  context: RestoreContext,
  state: GitState,
  found: { indexTree: TreeList; isEmpty: boolean },
  hooks: RestoreHooks,
): Promise<{ proof: boolean; stats: ReadonlyMap<string, CachedStat> }> {
  const { shadow, work, parts } = context;
  const { isEmpty } = found;
  openDirectories(work, state);
  const listing = listTreeLike(shadow, found.indexTree, state.trees.worktree);
  listing.catch(() => undefined);
  const checkout = await shadow.git(['read-tree', '--reset', '-u', state.trees.worktree]);
  if (checkout.status !== 0) {
    const line = checkout.message.split('\n').find((text) => text !== '') ?? '';
    throw new ToolError('refused', `the work tree cannot be written: ${line}`);
  }
  const tree = await listing;
  await hooks.onStep?.('tracked');
  if (isEmpty) trustTimes(shadow);
  const proof = await proveWorktree(context);
  const kept = new Set<string>();
  const note = (paths: Iterable<string>): void => {
    for (const path of paths) kept.add(path);
  };
  note(await restoreNested(context, state));
  await hooks.onStep?.('nested');
  if (hasPart(parts, 'untracked.tgz')) {
    const entries = await extractPart(parts, 'untracked.tgz', work, {});
    note(entries.map((entry) => entry.path));
  }
  await hooks.onStep?.('untracked');
  const hasLargeFiles = hasPart(parts, 'lfs') || state.large_files.length > 0;
  // While git looks for what is left over; what goes then changes the times of directories only.
  const cleaning = isEmpty ? null : removeLeftovers(context, state, { tree, kept, proof });
  cleaning?.catch(() => undefined);
  const stats = hasLargeFiles ? null : restoreFiles(context, state, tree, isEmpty);
  await cleaning;
  if (hasLargeFiles) await restoreLargeFiles(context, state);
  return { proof, stats: stats ?? restoreFiles(context, state, tree, isEmpty) };
}

/**
 * git alone has written these files, and its index after them: none of those that are as young as
 * the index can have changed since, and none need be read to see it.
 */
function trustTimes(shadow: Shadow): void {
  const index = toFs(indexOf(shadow));
  const seconds = Math.floor(lstatSync(index).mtimeMs / 1000) + 1;
  utimesSync(index, seconds, seconds);
}

/** A second restore meets directories whose recorded modes forbid writing. */
function openDirectories(work: string, state: GitState): void {
  for (const [path] of state.modes) {
    const full = toFs(joinPath(work, path));
    try {
      const stat = lstatSync(full, { throwIfNoEntry: false });
      if (stat?.isDirectory()) chmodSync(full, (stat.mode & 0o7777) | 0o700);
    } catch {
      // What cannot be opened shows when it is written to.
    }
  }
}

/** Recomputes what is on disk before times are set: no file may differ from the recorded tree. */
async function proveWorktree(context: RestoreContext): Promise<boolean> {
  const different = splitNul(await gitOrThrow(context.shadow, ['diff-files', '-z', '--name-only']));
  for (const path of different.slice(0, 100)) {
    context.losses.push({ path: toReport(path), reason: 'differs from the checkpoint on disk' });
  }
  return different.length === 0;
}

export const toEntry = (file: TreeFile): IndexEntry => ({
  path: file.path,
  mode: file.mode,
  id: file.id,
  stage: 0,
  assumeUnchanged: false,
  skipWorktree: false,
  intentToAdd: false,
  stat: ZERO_STAT,
});

/** What the environment's set-up left and no ignore rule covers goes; ignored files stay. */
async function removeLeftovers(
  context: RestoreContext,
  state: GitState,
  found: { tree: readonly TreeFile[]; kept: ReadonlySet<string>; proof: boolean },
): Promise<void> {
  const { shadow, work } = context;
  const { tree, kept, proof } = found;
  const nested = new Set(state.nested_repositories);
  const listing = await listUntracked(shadow);
  const entries = tree.map(toEntry);
  // Proven files need no second look: only what is around them does.
  const tracked = proof ? scanProven(work, entries) : scanTracked(work, entries);
  const left = await scanUntracked(shadow, tracked, listing);
  for (const path of [...left.files, ...left.emptyDirectories]) {
    if (!kept.has(path)) removePath(work, path, tracked.directories, kept);
  }
  for (const path of left.nested) {
    if (!nested.has(path)) removePath(work, path, tracked.directories, kept);
  }
}

function removePath(
  work: string,
  path: string,
  tracked: ReadonlyMap<string, unknown>,
  kept: ReadonlySet<string>,
): void {
  removeInside(work, path);
  for (let parent = parentOf(path); parent !== ''; parent = parentOf(parent)) {
    if (tracked.has(parent) || kept.has(parent)) return;
    const full = toFs(joinPath(work, parent));
    if (readdirSync(full).length > 0) return;
    removeInside(work, parent);
  }
}

/** The directory above keeps the time it was restored with. */
function removeInside(work: string, path: string): void {
  const parent = parentOf(path);
  const above = toFs(parent === '' ? work : joinPath(work, parent));
  const { mtimeMs } = lstatSync(above);
  rmSync(toFs(joinPath(work, path)), { recursive: true, force: true });
  utimesSync(above, mtimeMs / 1000, mtimeMs / 1000);
}

/** Large files of git-lfs come from their pointer, by the one fixed program (R13). */
async function restoreLargeFiles(context: RestoreContext, state: GitState): Promise<void> {
  const { shadow, work, parts, repository, losses } = context;
  if (hasPart(parts, 'lfs')) await extractPart(parts, 'lfs', repository.commonDirectory, {});
  if (state.large_files.length === 0) return;
  for (const path of state.large_files) rmSync(toFs(joinPath(work, path)), { force: true });
  const settings = [
    'core.hooksPath=/dev/null',
    'core.fsmonitor=false',
    'filter.lfs.smudge=git-lfs smudge -- %f',
    'filter.lfs.process=git-lfs filter-process',
    'filter.lfs.required=true',
  ];
  const { GIT_ATTR_NOSYSTEM, ...environment } = cleanEnvironment();
  void GIT_ATTR_NOSYSTEM;
  const extra = { HOME: toText(context.home), GIT_INDEX_FILE: toText(indexOf(shadow)) };
  const args = ['checkout-index', '-f', '-z', '--stdin'];
  const git = settings.flatMap((setting) => ['-c', setting]);
  const result = await runProcess('git', [...git, ...args], {
    env: { ...environment, ...extra },
    cwd: toText(work),
    input: toBytes(state.large_files.map((path) => `${path}\0`).join('')),
  });
  const missing = state.large_files.filter((path) => !existsSync(toFs(joinPath(work, path))));
  if (result.status === 0 && missing.length === 0) return;
  await gitOrThrow(shadow, ['checkout-index', '-f', '-z', '--stdin'], {
    input: toBytes(missing.map((path) => `${path}\0`).join('')),
  });
  for (const path of missing) {
    losses.push({
      path: toReport(path),
      reason: 'git-lfs could not bring it: its pointer is there',
    });
  }
}

const indexOf = (shadow: Shadow): string => joinPath(shadow.directory, 'index');

function restoreFiles(
  context: RestoreContext,
  state: GitState,
  tree: readonly TreeFile[],
  isEmpty: boolean,
): Map<string, CachedStat> {
  restoreModes(context.work, state);
  // git made every file itself, with this mask: 644 and 755 are right already.
  return restoreTimes(context, state, tree, { modes: !isEmpty || process.umask() !== PLAIN_MASK });
}

const PLAIN_MASK = 0o022;

/** Modes of files; those of directories come last, with the times. */
function restoreModes(work: string, state: GitState): void {
  const mask = process.getuid?.() === 0 ? 0o1777 : 0o7777;
  for (const [path, mode] of state.modes) {
    const full = toFs(joinPath(work, path));
    const stat = lstatSync(full, { throwIfNoEntry: false });
    if (stat?.isFile()) chmodSync(full, mode & mask);
  }
}

/** Node sets times with a resolution of 238 ns (a double). Returns what the index has to say. */
function restoreTimes(
  context: RestoreContext,
  state: GitState,
  tree: readonly TreeFile[],
  wanted: { modes: boolean },
): Map<string, CachedStat> {
  const { work, losses } = context;
  const stats = new Map<string, CachedStat>();
  const files = tree.filter((file) => file.mode !== MODE_GITLINK);
  const { seconds, nanos } = state.times;
  if (files.length !== seconds.length) {
    losses.push({ reason: 'the recorded times do not fit the files: they were left as they are' });
    return stats;
  }
  const odd = new Map(state.modes);
  files.forEach((file, number) => {
    const full = toFs(joinPath(work, file.path));
    const time = seconds[number]! + nanos[number]! / SECOND;
    try {
      if (wanted.modes && !odd.has(file.path) && file.mode !== 0o120000) {
        chmodSync(full, file.mode & 0o777);
      }
      lutimesSync(full, time, time);
      const stat = readStat(work, file.path);
      if (stat !== null) stats.set(file.path, stat);
    } catch (error) {
      losses.push({
        path: toReport(file.path),
        reason: `no time set: ${(error as Error).message}`,
      });
    }
  });
  return stats;
}

/** Run last of all file work: writing into a directory changes its time. */
export function restoreDirectories(work: string, state: GitState): void {
  const mask = process.getuid?.() === 0 ? 0o1777 : 0o7777;
  const modes = new Map(state.modes);
  const deepestFirst = [...state.directory_times].sort((a, b) => b[0].length - a[0].length);
  for (const [path, seconds, nanos] of deepestFirst) {
    const full = toFs(path === '' ? work : joinPath(work, path));
    const stat = lstatSync(full, { throwIfNoEntry: false });
    if (!stat?.isDirectory()) continue;
    const time = seconds + nanos / SECOND;
    utimesSync(full, time, time);
    chmodSync(full, (modes.get(path) ?? 0o755) & mask);
  }
}
