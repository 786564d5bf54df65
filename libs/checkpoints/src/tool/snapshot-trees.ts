import { existsSync, writeFileSync } from 'node:fs';
import { joinPath, toFs, toText } from './byte-path.ts';
import {
  serialiseIndex,
  TableIndex,
  zeroId,
  ZERO_STAT,
  type IndexEntry,
  type IndexFile,
} from './index-file.ts';
import { IndexTable } from './index-table.ts';
import { readIfThere } from './repository.ts';
import { copyIndex, gitOrThrow, type Shadow } from './shadow.ts';
import type { CheckoutScan } from './checkout-scan.ts';
import type { TrackedFile, TrackedScan } from './tracked-files.ts';
import { cachedRootId, writeChangedTree, type TreeChange } from './tree-writer.ts';
import { readContent, type ContentNotes, type DiskContent } from './worktree-content.ts';

/** What the tracked files look like on disk, next to the index. */
export interface WorktreeContent {
  /** Present on disk with other bytes or another mode than the index has. */
  changed: DiskContent[];
  /** Not on disk (or not as a file or link). */
  gone: string[];
  /** Not kept: the index's entry stands in their place. */
  keptBack: string[];
  /**
   * Entries git must look at (or knows to be modified): the cached size to carry over. 0 makes git
   * compare the content; another value than the file's size makes it modified without a look.
   */
  dirty: { path: string; size: number }[];
  /** Of `changed`: git holds them for unmodified, only their bytes are a conversion. */
  rawClean: Set<string>;
  storedBytes: Map<string, number>;
}

export function readWorktree(
  shadow: Shadow,
  scan: CheckoutScan,
  converted: ReadonlySet<string>,
  fileBytesMax: number,
  notes: ContentNotes,
): WorktreeContent {
  const content: WorktreeContent = {
    changed: [],
    gone: [],
    keptBack: [],
    dirty: [],
    rawClean: new Set(),
    storedBytes: new Map(),
  };
  for (const path of converted) scan.fileOf(path);
  for (const file of scan.files.values()) {
    if (file.gitlink && (file.kind === 'directory' || file.kind === 'unreadable')) continue;
    if (file.statClean && !converted.has(file.path)) continue;
    const outcome = readContent(shadow, file, fileBytesMax, notes);
    if (outcome === 'gone') content.gone.push(file.path);
    else if (outcome === 'kept_back') {
      content.keptBack.push(file.path);
      // A path in conflict has no entry that could stand in its place.
      if (file.entry === null) content.gone.push(file.path);
    } else noteContent(shadow, file, outcome, content);
  }
  return content;
}

function noteContent(
  shadow: Shadow,
  file: TrackedFile,
  found: { content: DiskContent; body: Buffer },
  content: WorktreeContent,
): void {
  const { entry } = file;
  const sameBytes = entry !== null && entry.id === found.content.id;
  if (sameBytes && entry.mode === found.content.mode && !entry.intentToAdd) return;
  content.changed.push(found.content);
  if (!sameBytes) {
    const id = shadow.objects.add('blob', found.body, found.content.id);
    content.storedBytes.set(file.path, shadow.objects.sizeOf(id));
  }
  if (file.statClean) content.rawClean.add(file.path);
  else if (entry !== null && !entry.intentToAdd && !sameBytes) {
    const diskSize = file.stat!.size % 0x1_0000_0000;
    content.dirty.push({
      path: file.path,
      size: entry.stat.size === diskSize ? 0 : entry.stat.size,
    });
  }
}

export interface SnapshotTrees {
  /** Stage 0 of the index. */
  index: string;
  /** Conflict stages 1 to 3 that have entries. */
  stages: { stage: number; tree: string }[];
  /** The bytes on disk. */
  worktree: string;
  /** For people: without conversions, and with what a sparse checkout leaves off the disk. */
  view: string;
}

export async function writeIndexTrees(
  shadow: Shadow,
  index: IndexFile | null,
): Promise<Pick<SnapshotTrees, 'index' | 'stages'>> {
  const flagged = index instanceof TableIndex ? index.flagged : (index?.entries ?? []);
  const unmerged = flagged.filter((entry) => entry.stage > 0);
  if (index !== null && unmerged.length === 0) {
    const known = index instanceof TableIndex && index.isAsRead ? cachedRootId(index.table) : null;
    return { index: known ?? (await writeTree(shadow, 'index')), stages: [] };
  }
  const entries = index?.entries ?? [];
  const stages: SnapshotTrees['stages'] = [];
  for (const stage of [1, 2, 3]) {
    const those = unmerged.filter((entry) => entry.stage === stage);
    if (those.length > 0) stages.push({ stage, tree: await treeOf(shadow, those, stage) });
  }
  const merged = entries.filter((entry) => entry.stage === 0 && !entry.intentToAdd);
  return { index: await treeOf(shadow, merged, 0), stages };
}

async function treeOf(
  shadow: Shadow,
  entries: readonly IndexEntry[],
  stage: number,
): Promise<string> {
  const plain = entries.map((entry) => ({
    ...entry,
    stage: 0,
    stat: ZERO_STAT,
    skipWorktree: false,
    assumeUnchanged: false,
  }));
  const name = `stage${stage}.index`;
  const file = toFs(joinPath(shadow.directory, name));
  writeFileSync(file, serialiseIndex(plain, shadow.format, null));
  return writeTree(shadow, name);
}

async function writeTree(shadow: Shadow, indexName: string): Promise<string> {
  const extra = { GIT_INDEX_FILE: toText(joinPath(shadow.directory, indexName)) };
  const output = await gitOrThrow(shadow, ['write-tree', '--missing-ok'], { extra });
  return output.toString('latin1').trim();
}

/** The trees of what is on disk; the index's tree where nothing differs. */
export async function writeWorktreeTrees(
  shadow: Shadow,
  index: TableIndex | null,
  scan: TrackedScan,
  content: WorktreeContent,
  indexTree: string,
): Promise<Pick<SnapshotTrees, 'worktree' | 'view'>> {
  const changes = new Map<string, TreeChange | null>();
  for (const path of content.gone) changes.set(path, null);
  for (const { path, mode, id } of content.changed) changes.set(path, { mode, id });
  const table = treeTable(shadow, index);
  const treeOf = async (name: string): Promise<string> => {
    if (changes.size === 0) return indexTree;
    const written = table && writeChangedTree(shadow, table, changes);
    return written ?? treeWith(shadow, name, changes);
  };
  const worktree = await treeOf('worktree');
  const hidden = [...content.rawClean, ...content.gone.filter((path) => isSparse(scan, path))];
  if (hidden.length === 0) return { worktree, view: worktree };
  for (const path of hidden) changes.delete(path);
  return { worktree, view: await treeOf('view') };
}

/** The index with a tree for every directory: as it was read, or as git has completed it. */
function treeTable(shadow: Shadow, index: TableIndex | null): IndexTable | null {
  if (index === null || index.flagged.some(isWithoutTree)) return null;
  if (index.isAsRead && cachedRootId(index.table) !== null) return index.table;
  const file = readIfThere(joinPath(shadow.directory, 'index'));
  return file === null ? null : new IndexTable(file, shadow.format);
}

const isWithoutTree = (entry: IndexEntry): boolean => entry.stage > 0 || entry.intentToAdd;

const isSparse = (scan: TrackedScan, path: string): boolean =>
  scan.files.get(path)?.entry?.skipWorktree ?? false;

/** The same by git, which knows conflicts. Later lines win, so all stages go before a new entry. */
async function treeWith(
  shadow: Shadow,
  name: string,
  changes: ReadonlyMap<string, TreeChange | null>,
): Promise<string> {
  const zero = zeroId(shadow.format);
  const file = `${name}.index`;
  const from = joinPath(shadow.directory, 'index');
  const to = joinPath(shadow.directory, file);
  if (existsSync(toFs(from))) copyIndex(from, to);
  const lines = [...changes.keys()].map((path) => `0 ${zero}\t${path}\0`);
  for (const [path, change] of changes) {
    if (change) lines.push(`${change.mode.toString(8)} ${change.id} 0\t${path}\0`);
  }
  const input = Buffer.from(lines.join(''), 'latin1');
  const extra = { GIT_INDEX_FILE: toText(to) };
  await gitOrThrow(shadow, ['update-index', '-z', '--index-info'], { input, extra });
  return writeTree(shadow, file);
}
