import { writeFileSync } from 'node:fs';
import { joinPath, splitNul, toFs, toReport } from './byte-path.ts';
import { writeBundle } from './bundle.ts';
import type { CaptureRequest } from './contract.ts';
import type { Snapshot } from './capture-parts.ts';
import { serialiseIndex } from './index-file.ts';
import type { PartWriter } from './part-writer.ts';
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
  for (const step of [dropTags, dropWorktree, dropStaged]) {
    const { size } = await writeBundle(snapshot.observation.shadow, snapshot.roots, writer);
    if (size <= cap) return;
    if (!(await step(snapshot, size - cap))) continue;
    const after = await writeBundle(snapshot.observation.shadow, snapshot.roots, writer);
    if (after.size <= cap) return;
  }
  snapshot.notes.warnings.push({
    path: 'repo.bundle',
    reason: 'over the cap: commits are never left out, so the part is stored whole',
  });
}

/** Tags go by name and id only; the restore looks for them in the fresh clone. */
async function dropTags(snapshot: Snapshot): Promise<boolean> {
  const { roots, observation, notes } = snapshot;
  const tags = observation.repository.refs.filter((ref) => ref.name.startsWith('refs/tags/'));
  const ids = new Set(tags.map((ref) => ref.id));
  const before = roots.refs.length;
  roots.refs = roots.refs.filter(
    (ref) => !(ref.name.startsWith('refs/hangar/r/') && ids.has(ref.id)),
  );
  if (roots.refs.length === before) return false;
  for (const ref of tags) {
    notes.skipped.push({ path: toReport(ref.name), bytes: 0, reason: 'part_cap' });
  }
  return true;
}

interface Candidate {
  path: string;
  stored: number;
  bytes: number;
}

/** The largest first until they make up for the excess. */
function largest(candidates: Candidate[], excess: number): Candidate[] {
  const chosen: Candidate[] = [];
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
  if (observation.tracked.files.get(path)?.entry === null) content.gone.push(path);
}

/** Staged content goes back to what HEAD has; the file on disk, when it is the same, goes too. */
async function dropStaged(snapshot: Snapshot, excess: number): Promise<boolean> {
  const { observation, notes, content } = snapshot;
  const { shadow, index, repository } = observation;
  if (index === null) return false;
  const staged = await stagedBlobs(shadow, repository.headId, snapshot.trees.index);
  const chosen = largest(staged, excess);
  if (chosen.length === 0) return false;
  const old = new Map(staged.map((item) => [item.path, item]));
  const dropped = new Set(chosen.map((item) => item.path));
  const entries = index.entries.flatMap((entry) => {
    if (!dropped.has(entry.path) || entry.stage !== 0) return [entry];
    const { oldMode, oldId } = old.get(entry.path)!;
    if (oldMode === 0) return [];
    return [{ ...entry, mode: oldMode, id: oldId }];
  });
  index.entries = entries;
  const present = new Map(entries.map((entry) => [entry.path, entry]));
  for (const item of chosen) {
    notes.skipped.push({ path: toReport(item.path), bytes: item.bytes, reason: 'part_cap' });
    const file = observation.tracked.files.get(item.path);
    if (file) file.entry = present.get(item.path) ?? null;
    if (!content.changed.some((changed) => changed.path === item.path)) {
      keepBack(snapshot, item.path);
    }
  }
  const bytes = serialiseIndex(entries, shadow.format, null);
  writeFileSync(toFs(joinPath(shadow.directory, 'index')), bytes);
  await rebuild(snapshot);
  return true;
}

async function stagedBlobs(
  shadow: Shadow,
  head: string | null,
  indexTree: string,
): Promise<(Candidate & { oldMode: number; oldId: string })[]> {
  const from = head ?? (await emptyTree(shadow));
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', from, indexTree];
  const fields = splitNul(await gitOrThrow(shadow, args));
  const found: { path: string; oldMode: number; oldId: string; id: string }[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [oldMode, , oldId, id, status] = fields[at]!.slice(1).split(' ');
    if (status === 'D' || id === undefined) continue;
    found.push({ path: fields[at + 1]!, oldMode: Number.parseInt(oldMode!, 8), oldId: oldId!, id });
  }
  const format = '%(objectname) %(objecttype) %(objectsize:disk) %(objectsize)';
  const { stdout } = await shadow.git(['cat-file', '--buffer', `--batch-check=${format}`], {
    input: `${found.map((item) => item.id).join('\n')}\n`,
  });
  const lines = stdout.toString('latin1').split('\n');
  return found.flatMap((item, number) => {
    const [, type, stored, bytes] = (lines[number] ?? '').split(' ');
    if (type !== 'blob') return [];
    return [{ ...item, stored: Number(stored), bytes: Number(bytes) }];
  });
}

const emptyTree = async (shadow: Shadow): Promise<string> => {
  const args = ['hash-object', '-w', '-t', 'tree', '--stdin'];
  return (await gitOrThrow(shadow, args, { input: '' })).toString('latin1').trim();
};

/** New trees and the roots that point at them. */
async function rebuild(snapshot: Snapshot): Promise<void> {
  const { observation, content, roots } = snapshot;
  const { shadow, index, tracked, repository } = observation;
  const indexTrees = await writeIndexTrees(shadow, index);
  const trees = await writeWorktreeTrees(shadow, tracked, content, indexTrees.index);
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

