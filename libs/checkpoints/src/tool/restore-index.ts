import { copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { joinPath, parentsInOrder, toFs, toReport } from './byte-path.ts';
import { readStat } from './cached-stat.ts';
import type { GitState } from './git-state.ts';
import {
  MODE_GITLINK,
  serialiseIndex,
  ZERO_STAT,
  type CachedStat,
  type IndexEntry,
} from './index-file.ts';
import type { RestoreContext } from './restore.ts';
import { restoreDirectories, toEntry } from './restore-worktree.ts';
import { gitOrThrow, objectId } from './shadow.ts';
import { writeIndexTrees } from './snapshot-trees.ts';
import { directoryStates } from './tracked-files.ts';
import type { TreeList } from './tree-list.ts';

/**
 * Writes the index as it was (R2): entries, conflict stages, flags, and for entries that were
 * modified the cached size, so that git judges each file as it did before, without running a filter.
 */
export async function restoreIndex(
  context: RestoreContext,
  state: GitState,
  found: { indexTree: TreeList; stats: ReadonlyMap<string, CachedStat> },
): Promise<boolean> {
  const { shadow, repository, work, losses } = context;
  restoreDirectories(work, state);
  const place = joinPath(repository.gitDirectory, 'index');
  rmSync(toFs(`${place}.lock`), { force: true });
  if (!state.index.present) {
    rmSync(toFs(place), { force: true });
    return true;
  }
  const entries = await buildEntries(context, state, found);
  const undo = state.index.resolve_undo;
  const bytes = serialiseIndex(
    entries,
    shadow.format,
    undo === null ? null : Buffer.from(undo, 'latin1'),
  );
  const inShadow = toFs(joinPath(shadow.directory, 'index'));
  writeFileSync(inShadow, bytes);
  const trees = await writeIndexTrees(shadow, {
    entries,
    split: false,
    sparse: false,
    resolveUndo: null,
  });
  const proof = trees.index === state.trees.index;
  if (!proof) losses.push({ reason: 'the index does not have the recorded tree' });
  copyFileSync(inShadow, toFs(`${place}.hangar`));
  renameSync(toFs(`${place}.hangar`), toFs(place));
  return proof;
}

async function buildEntries(
  context: RestoreContext,
  state: GitState,
  { indexTree, stats }: { indexTree: TreeList; stats: ReadonlyMap<string, CachedStat> },
): Promise<IndexEntry[]> {
  const { shadow, work, losses } = context;
  const entries = indexTree.files.map(toEntry);
  for (const [mode, id, stage, path] of state.index.conflicts) {
    entries.push({ ...toEntry({ path, mode, id }), stage });
  }
  const empty = objectId(shadow.format, 'blob', Buffer.alloc(0));
  if (state.index.intent_to_add.length > 0) {
    // `git add -N` has it in the store; a tree never names it.
    await gitOrThrow(shadow, ['hash-object', '-w', '--stdin', '--no-filters'], { input: '' });
  }
  for (const [mode, path] of state.index.intent_to_add) {
    entries.push({ ...toEntry({ path, mode, id: empty }), intentToAdd: true });
  }
  const skipped = new Set(state.index.skip_worktree);
  const assumed = new Set(state.index.assume_unchanged);
  const dirty = new Map(state.index.dirty);
  const directories = directoryStates(work);
  const parent = parentsInOrder();
  for (const entry of entries) {
    entry.skipWorktree = skipped.has(entry.path);
    entry.assumeUnchanged = assumed.has(entry.path);
    const plain = entry.stage === 0 && !entry.intentToAdd && entry.mode !== MODE_GITLINK;
    if (!plain || directories.stateOf(parent(entry.path)) !== 'real') continue;
    const stat = stats.get(entry.path) ?? readStat(work, entry.path);
    const size = dirty.get(entry.path);
    if (stat !== null) entry.stat = size === undefined ? stat : { ...ZERO_STAT, size };
  }
  const flagged = [...skipped, ...assumed];
  const known = new Set(flagged.length === 0 ? [] : entries.map((entry) => entry.path));
  for (const path of flagged) {
    if (!known.has(path)) losses.push({ path: toReport(path), reason: 'an index flag is lost' });
  }
  return entries;
}
