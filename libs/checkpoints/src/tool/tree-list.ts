import { splitNul } from './byte-path.ts';
import { gitOrThrow, type Shadow } from './shadow.ts';

export interface TreeFile {
  path: string;
  mode: number;
  id: string;
}

/** A tree that was read whole: others are read as their difference to it. */
export interface TreeList {
  tree: string;
  /** Files, links and gitlinks, in byte order of their paths. */
  files: TreeFile[];
}

const MODE_TREE = '040000';

const byPath = (a: TreeFile, b: TreeFile): number => (a.path < b.path ? -1 : 1);

/** Files, links and gitlinks of a tree; `onDirectory` is told the directories' paths. */
export async function listTree(
  shadow: Shadow,
  tree: string,
  onDirectory?: (path: string) => void,
): Promise<TreeFile[]> {
  const args = ['ls-tree', '-r', '-t', '-z', '--full-tree', tree];
  const files: TreeFile[] = [];
  for (const line of splitNul(await gitOrThrow(shadow, args))) {
    const tab = line.indexOf('\t');
    const [mode, type, id] = line.slice(0, tab).split(' ');
    const path = line.slice(tab + 1);
    if (type === 'tree') onDirectory?.(path);
    else files.push({ path, mode: Number.parseInt(mode!, 8), id: id! });
  }
  return files.sort(byPath);
}

// The shadow's configuration hides submodules from diffs.
const DIFF = ['diff-tree', '-r', '-z', '--no-renames', '--ignore-submodules=none'];

/**
 * The same for a tree that is nearly `known`: git only walks where the two differ. `onDirectory` is
 * told the directories that `known` has otherwise.
 */
export async function listTreeLike(
  shadow: Shadow,
  known: TreeList,
  tree: string,
  onDirectory?: (path: string) => void,
): Promise<TreeFile[]> {
  if (tree === known.tree) return known.files;
  const args = [...DIFF, '-t', '--raw', '--no-abbrev', known.tree, tree];
  const fields = splitNul(await gitOrThrow(shadow, args));
  if (fields.length === 0) return known.files;
  const files = new Map(known.files.map((file) => [file.path, file]));
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [before, mode, , id, status] = fields[at]!.split(' ');
    const path = fields[at + 1]!;
    if (mode === MODE_TREE) onDirectory?.(path);
    // A directory that a file replaces is told as gone, before or after the file.
    else if (before === `:${MODE_TREE}` && status === 'D') continue;
    else if (status === 'D') files.delete(path);
    else files.set(path, { path, mode: Number.parseInt(mode!, 8), id: id! });
  }
  return [...files.values()].sort(byPath);
}

/** Paths that `tree` has otherwise than the tree `known`, directories included. */
export async function pathsUnlike(shadow: Shadow, known: string, tree: string): Promise<string[]> {
  return splitNul(await gitOrThrow(shadow, [...DIFF, '-t', '--name-only', known, tree]));
}
