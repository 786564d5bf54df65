import { compareBytes } from './byte-path.ts';
import type { IndexTable } from './index-table.ts';
import type { Shadow } from './shadow.ts';

/**
 * Trees of a work tree that differs little from the index: only the directories on the way to a
 * change are written, the others are taken from the trees that git keeps in the index (`TREE`).
 */

const TREE_MODE = '40000';
const [NEWLINE, SPACE, MINUS, ZERO] = [0x0a, 0x20, 0x2d, 0x30];

/** A directory in the `TREE` extension: path, NUL, number of entries, space, subtrees, newline, id. */
interface CachedTree {
  name: string;
  /** Entries of the index in it and below; negative when it has no tree yet. */
  entries: number;
  subtrees: number;
  /** Where the id begins, and where what is below begins. */
  id: number;
  below: number;
}

export interface TreeChange {
  mode: number;
  id: string;
}

/** The tree that git keeps for the whole index; null where some of it has no tree yet. */
export function cachedRootId(table: IndexTable): string | null {
  const body = table.extension('TREE');
  const root = body && readCached(body, table.idBytes, 0);
  return root?.entries === table.count ? body!.toString('hex', root.id, root.below) : null;
}

function readCached(body: Buffer, idBytes: number, from: number): CachedTree | null {
  const zero = body.indexOf(0, from);
  const line = body.indexOf(0x0a, zero);
  if (zero < 0 || line < 0) return null;
  const [entries = -1, subtrees = -1] = body
    .toString('latin1', zero + 1, line)
    .split(' ')
    .map(Number);
  const name = body.toString('latin1', from, zero);
  return { name, entries, subtrees, id: line + 1, below: line + 1 + idBytes };
}

/** Where the next directory beside this one begins. */
function behind(body: Buffer, idBytes: number, tree: CachedTree): number {
  let at = tree.below;
  for (let left = tree.subtrees; left > 0; left--) {
    // Without names: there are thousands, and only the few that lead to a change matter.
    at = body.indexOf(0, at) + 1;
    if (at === 0 || body[at] === MINUS) return body.length;
    while (body[at++] !== SPACE);
    let subtrees = 0;
    for (; body[at] !== NEWLINE; at++) subtrees = subtrees * 10 + body[at]! - ZERO;
    left += subtrees;
    at += 1 + idBytes;
  }
  return at;
}

function readBelow(body: Buffer, idBytes: number, tree: CachedTree): Map<string, CachedTree> {
  const found = new Map<string, CachedTree>();
  let at = tree.below;
  for (let number = 0; number < tree.subtrees; number++) {
    const below = readCached(body, idBytes, at);
    if (below === null) break;
    found.set(below.name, below);
    at = behind(body, idBytes, below);
  }
  return found;
}

/**
 * Writes the trees; a change to null takes a path away. Changes are of paths of the index. Null when
 * the index does not have the trees that this builds on.
 */
export function writeChangedTree(
  shadow: Shadow,
  table: IndexTable,
  changes: ReadonlyMap<string, TreeChange | null>,
): string | null {
  const body = table.extension('TREE');
  const root = body && readCached(body, table.idBytes, 0);
  if (!body || root?.entries !== table.count) return null;
  const touched = new Set<string>();
  for (const path of changes.keys()) {
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
      touched.add(path.slice(0, at));
    }
  }
  return writeDirectory({ shadow, table, body, changes, touched }, '', root);
}

interface Writing {
  shadow: Shadow;
  table: IndexTable;
  body: Buffer;
  changes: ReadonlyMap<string, TreeChange | null>;
  /** Directories with a change in them or below. */
  touched: ReadonlySet<string>;
}

interface TreeItem {
  name: string;
  /** Octal. */
  mode: string;
  id: string;
}

/** The id of the tree; an empty string where nothing is left of a directory. */
function writeDirectory(writing: Writing, directory: string, cached: CachedTree): string | null {
  const { shadow, table, body, changes, touched } = writing;
  const prefix = directory === '' ? '' : `${directory}/`;
  const items: TreeItem[] = [];
  const trees = readBelow(body, table.idBytes, cached);
  const first = table.lowerBound(prefix);
  const end = first + cached.entries;
  for (let number = first; number < end;) {
    const path = table.path(number);
    const slash = path.indexOf('/', prefix.length);
    if (slash < 0) {
      const change = changes.get(path);
      const name = path.slice(prefix.length);
      const { mode, id } = change ?? { mode: table.mode(number), id: table.id(number) };
      if (change !== null) items.push({ name, mode: mode.toString(8), id });
      number++;
      continue;
    }
    const inside = path.slice(0, slash);
    const below = trees.get(inside.slice(prefix.length));
    if (below === undefined || !(below.entries > 0)) return null;
    const id = touched.has(inside)
      ? writeDirectory(writing, inside, below)
      : body.toString('hex', below.id, below.below);
    if (id === null) return null;
    if (id !== '') items.push({ name: inside.slice(prefix.length), mode: TREE_MODE, id });
    number += below.entries;
  }
  if (items.length === 0 && directory !== '') return '';
  items.sort((a, b) => compareBytes(sortKey(a), sortKey(b)));
  const bytes = items.flatMap(({ name, mode, id }) => [
    Buffer.from(`${mode} ${name}\0`, 'latin1'),
    Buffer.from(id, 'hex'),
  ]);
  return shadow.objects.add('tree', Buffer.concat(bytes));
}

/** git sorts a directory as if its name ended in a slash. */
const sortKey = ({ name, mode }: TreeItem): string => (mode === TREE_MODE ? `${name}/` : name);
