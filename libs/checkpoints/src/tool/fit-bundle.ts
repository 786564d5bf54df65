import { writeFileSync } from 'node:fs';
import { joinPath, splitNul, toFs, toReport } from './byte-path.ts';
import { writeBundle } from './bundle.ts';
import type { CaptureRequest, SkippedEntry } from './contract.ts';
import type { Snapshot } from './capture-parts.ts';
import { MODE_GITLINK, serialiseIndex } from './index-file.ts';
import type { PartWriter } from './part-writer.ts';
import { objectTypes } from './roots.ts';
import { gitOrThrow, writeCommit, type Shadow } from './shadow.ts';
import { writeIndexTrees, writeWorktreeTrees } from './snapshot-trees.ts';

/**
 * Makes an oversized repo.bundle fit without losing a commit (X3). In this order, until it fits:
 * tags that a fresh clone most likely brings, the largest uncommitted files of the work tree, the
 * largest staged files. Each is named in `skipped`. Commits are never left out: a bundle that is over
 * the cap with committed history alone stays whole and says so in a warning.
 */
export async function fitBundle(
  request: CaptureRequest,
  snapshot: Snapshot,
  writer: PartWriter,
): Promise<void> {
  const cap = request.caps.part_bytes_max;
  const { shadow } = snapshot.observation;
  const measure = async (): Promise<number> =>
    (await writeBundle(shadow, snapshot.roots, writer)).size;
  let size = await measure();
  await dropTags(snapshot, size, writer);
  size = await measure();
  if (size > cap && (await dropWorktree(snapshot, size - cap))) size = await measure();
  if (size > cap && (await dropStaged(snapshot, size - cap))) size = await measure();
  if (size <= cap) return;
  snapshot.notes.warnings.push({
    path: 'repo.bundle',
    reason: 'over the cap: commits are never left out, so the part is stored whole',
  });
}

/** Tags go by name and id only; the restore looks for them in the fresh clone. */
async function dropTags(snapshot: Snapshot, sizeBefore: number, writer: PartWriter): Promise<void> {
  const { roots, observation, notes } = snapshot;
  const tags = observation.repository.refs.filter((ref) => ref.name.startsWith('refs/tags/'));
  const ids = new Set(tags.map((ref) => ref.id));
  for (const ref of observation.repository.refs) {
    if (!ref.name.startsWith('refs/tags/')) ids.delete(ref.id);
  }
  const before = roots.refs;
  roots.refs = before.filter((ref) => !(ref.name.startsWith('refs/hangar/r/') && ids.has(ref.id)));
  if (roots.refs.length === before.length) return;
  const { size } = await writeBundle(observation.shadow, roots, writer);
  // Tags on commits that are there anyway cost nothing: they stay.
  if (size > sizeBefore * 0.99) {
    roots.refs = before;
    return;
  }
  for (const ref of tags.filter((tag) => ids.has(tag.id))) {
    notes.skipped.push({ path: toReport(ref.name), bytes: 0, reason: 'part_cap' });
  }
}

interface Candidate {
  path: string;
  stored: number;
  bytes: number;
}

/** The largest first until they make up for the excess. */
function largest<T extends Candidate>(candidates: T[], excess: number): T[] {
  const chosen: T[] = [];
  let freed = 0;
  for (const item of candidates.sort((a, b) => b.stored - a.stored)) {
    if (freed >= excess) break;
    freed += item.stored;
    chosen.push(item);
  }
  return chosen;
}

async function dropWorktree(snapshot: Snapshot, excess: number): Promise<boolean> {
  const { content, notes } = snapshot;
  const candidates = content.changed.flatMap((file) => {
    const stored = content.storedBytes.get(file.path) ?? 0;
    return stored > 0 ? [{ path: file.path, stored, bytes: file.bytes }] : [];
  });
  const chosen = largest(candidates, excess);
  if (chosen.length === 0) return false;
  for (const item of chosen) {
    keepBack(snapshot, item.path);
    notes.skipped.push({ path: toReport(item.path), bytes: item.bytes, reason: 'part_cap' });
  }
  await rebuild(snapshot);
  return true;
}

function keepBack(snapshot: Snapshot, path: string): void {
  const { content, observation } = snapshot;
  content.changed = content.changed.filter((file) => file.path !== path);
  content.keptBack.push(path);
  if (observation.tracked.fileOf(path)?.entry === null) content.gone.push(path);
}

async function dropStaged(snapshot: Snapshot, excess: number): Promise<boolean> {
  const staged = await stagedFiles(snapshot);
  const chosen = largest(await measureBlobs(snapshot.observation.shadow, staged), excess);
  if (chosen.length === 0) return false;
  await dropFromIndex(snapshot, chosen, 'part_cap');
  return true;
}

/**
 * Staged content whose object is not in the repository (damage, an interrupted copy) must not cost
 * the rest of the checkpoint. Returns whether there was any.
 */
export async function dropMissing(snapshot: Snapshot): Promise<boolean> {
  const { shadow } = snapshot.observation;
  const staged = await stagedFiles(snapshot);
  const types = await objectTypes(
    shadow,
    staged.map((item) => item.id),
  );
  const missing = staged.filter((item) => item.mode !== MODE_GITLINK && !types.has(item.id));
  if (missing.length === 0) return false;
  await dropFromIndex(
    snapshot,
    missing.map((item) => ({ ...item, bytes: 0 })),
    'unreadable',
  );
  return true;
}

/** Staged content goes back to what HEAD has; the file on disk, when it is the same, goes too. */
async function dropFromIndex(
  snapshot: Snapshot,
  chosen: readonly (StagedFile & { bytes: number })[],
  reason: SkippedEntry['reason'],
): Promise<void> {
  const { observation, notes, content } = snapshot;
  const { index } = observation;
  if (index === null) return;
  const dropped = new Map(chosen.map((item) => [item.path, item]));
  index.entries = index.entries.flatMap((entry) => {
    const old = entry.stage === 0 ? dropped.get(entry.path) : undefined;
    if (old === undefined) return [entry];
    return old.oldMode === 0 ? [] : [{ ...entry, mode: old.oldMode, id: old.oldId }];
  });
  const present = new Map(index.entries.map((entry) => [entry.path, entry]));
  for (const item of chosen) {
    notes.skipped.push({ path: toReport(item.path), bytes: item.bytes, reason });
    const file = observation.tracked.fileOf(item.path);
    if (file) file.entry = present.get(item.path) ?? null;
    const onDisk = content.changed.some((changed) => changed.path === item.path);
    if (!onDisk) keepBack(snapshot, item.path);
  }
  await remakeTrees(snapshot);
}

/** All trees by git, from the entries alone. */
export async function remakeTrees(snapshot: Snapshot): Promise<void> {
  const { shadow, index } = snapshot.observation;
  if (index === null) return;
  // From now on the table is not asked, nor the trees in it.
  index.entries = [...index.entries];
  const bytes = serialiseIndex(index.entries, shadow.format, null);
  writeFileSync(toFs(joinPath(shadow.directory, 'index')), bytes);
  await rebuild(snapshot);
}

interface StagedFile {
  path: string;
  mode: number;
  id: string;
  /** 0 when HEAD does not have the path. */
  oldMode: number;
  oldId: string;
}

async function stagedFiles(snapshot: Snapshot): Promise<StagedFile[]> {
  const { shadow, repository, index } = snapshot.observation;
  if (index === null) return [];
  const from = repository.headId ?? shadow.objects.add('tree', Buffer.alloc(0));
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', from, snapshot.trees.index];
  const fields = splitNul(await gitOrThrow(shadow, args));
  const found: StagedFile[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [oldMode, mode, oldId, id, status] = fields[at]!.slice(1).split(' ');
    if (status === 'D' || id === undefined) continue;
    const octal = (text: string | undefined): number => Number.parseInt(text ?? '0', 8);
    const modes = { mode: octal(mode), oldMode: octal(oldMode) };
    found.push({ path: fields[at + 1]!, ...modes, oldId: oldId!, id });
  }
  return found;
}

async function measureBlobs(
  shadow: Shadow,
  files: readonly StagedFile[],
): Promise<(StagedFile & Candidate)[]> {
  if (files.length === 0) return [];
  const format = '%(objecttype) %(objectsize:disk) %(objectsize)';
  const { stdout } = await shadow.git(['cat-file', '--buffer', `--batch-check=${format}`], {
    input: `${files.map((item) => item.id).join('\n')}\n`,
  });
  const lines = stdout.toString('latin1').split('\n');
  return files.flatMap((item, number) => {
    const [type, stored, bytes] = (lines[number] ?? '').split(' ');
    if (type !== 'blob') return [];
    return [{ ...item, stored: Number(stored), bytes: Number(bytes) }];
  });
}

/** New trees and the roots that point at them. */
async function rebuild(snapshot: Snapshot): Promise<void> {
  const { observation, content, roots } = snapshot;
  const { shadow, index, tracked, repository } = observation;
  const indexTrees = await writeIndexTrees(shadow, index);
  const trees = await writeWorktreeTrees(shadow, index, tracked, content, indexTrees.index);
  snapshot.trees = { ...indexTrees, ...trees };
  const head = roots.refs.some((ref) => ref.name === 'refs/hangar/checkpoint')
    ? repository.headId
    : null;
  for (const ref of roots.refs) {
    if (ref.name === 'refs/hangar/index0') {
      ref.id = writeCommit(shadow, snapshot.trees.index, head);
    }
    if (ref.name === 'refs/hangar/worktree') {
      ref.id = writeCommit(shadow, snapshot.trees.worktree, head);
    }
  }
}
