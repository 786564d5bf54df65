import { readdirSync, type Dirent } from 'node:fs';
import { joinPath, parentOf, parentsInOrder, toFs } from './byte-path.ts';
import { MODE_GITLINK } from './index-file.ts';
import type { IndexTable } from './index-table.ts';
import { KnownFiles } from './known-files.ts';
import type { Shadow } from './shadow.ts';
import {
  directoryStates,
  kindOf,
  lookAt,
  type DirectoryStates,
  type TrackedFile,
  type TrackedScan,
} from './tracked-files.ts';

/**
 * One look at every file and directory that the index knows: what differs, and which names are beside
 * them. In one process, because git and `find` would each walk the same directories again.
 */

/** The directories of the entries, each before what is below it. */
interface Directories {
  paths: string[];
  /** By entry: the number of its directory. */
  ofEntry: Uint32Array;
  /** By directory: how many names the index has in it. */
  names: Uint32Array;
}

export interface CheckoutScan extends TrackedScan {
  /**
   * Of the entries only those that need a second look: changed, gone, in conflict, flagged to be
   * added, directories of other repositories, files with several links or an odd mode.
   */
  files: Map<string, TrackedFile>;
  /** The file of any path of the index; from then on it is among `files`. */
  fileOf(path: string): TrackedFile | undefined;
  /** By entry: 1 where the file is as the index has it and in no way odd; all others are in `files`. */
  plain: Uint8Array;
  /** Names in those directories that the index does not have; all are paths. */
  beside: Beside;
}

export interface Beside {
  files: string[];
  directories: string[];
  special: string[];
  /** Directories that cannot be read. */
  unreadable: string[];
}

const MODES_USUAL = new Set([0o644, 0o755]);
/** By then a file system with the coarsest times (two seconds) gives the next change another one. */
const SETTLED_MS = 3000;
/** About two milliseconds. */
const DIRECTORIES_AT_ONCE = 128;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** `changing`: the paths that git finds changed (see findChanged). */
export async function scanCheckout(
  shadow: Shadow,
  home: string,
  table: IndexTable,
  changing: Promise<string[]>,
): Promise<CheckoutScan> {
  const { work } = shadow;
  // While git compares the files.
  const directories = directoriesOf(table);
  const states = directoryStates(work);
  const isReal = directories.paths.map((path) => states.stateOf(path) === 'real');
  const place = { home, work, format: shadow.format };
  const known = new KnownFiles(place, table, directories.paths.length);
  const clock = Date.now();
  const beside = await findBeside(work, table, { directories, states, whole: known.whole, clock });
  const plain = Uint8Array.from(known.usual);
  const look: Look = { work, table, states, plain, changed: new Set(), files: new Map() };
  for (const path of await changing) {
    const number = table.find(path);
    look.changed.add(path);
    plain[number] = known.usual[number] = 0;
  }
  const isFlagged = new Set(table.flagged);
  for (const number of isFlagged) plain[number] = 0;
  const lacking = new Set<string>();
  for (let number = 0; number < table.count; number++) {
    const isThere = isReal[directories.ofEntry[number]!];
    if (plain[number] === 1 && isThere) continue;
    const file = lookAtEntry(look, number);
    if (file.kind === 'missing') lacking.add(parentOf(file.path));
    if (!isUsual(file)) known.usual[number] = 0;
    else if (!isThere || isFlagged.has(number)) continue;
    else if (file.statClean) {
      look.files.delete(file.path);
      plain[number] = 1;
      if (isSettled(file, clock)) known.usual[number] = 1;
    }
  }
  for (const [number, path] of directories.paths.entries()) {
    if (!isReal[number] && path !== '') lacking.add(parentOf(path));
  }
  for (const [number, path] of directories.paths.entries()) {
    if (lacking.has(path)) known.whole[number] = 0;
  }
  known.save();
  for (const path of lacking) {
    if (states.stateOf(path) === 'real') compareNames(work, table, path, beside);
  }
  return {
    files: look.files,
    directories: states.directories,
    unreadable: states.unreadable(),
    plain,
    beside: joined([...beside.values()]),
    fileOf: (path) => {
      const number = look.files.has(path) ? -1 : table.find(path);
      return number < 0 ? look.files.get(path) : lookAtEntry(look, number);
    },
  };
}

const joined = (parts: readonly Beside[]): Beside => ({
  files: parts.flatMap((part) => part.files),
  directories: parts.flatMap((part) => part.directories),
  special: parts.flatMap((part) => part.special),
  unreadable: parts.flatMap((part) => part.unreadable),
});

const isInside = (work: string): boolean => toFs(work) === process.cwd();

/** Of the last table: where another capture follows in this process, the paths are mostly the same. */
let last: { table: IndexTable; directories: Directories } | null = null;

function directoriesOf(table: IndexTable): Directories {
  if (last === null || !table.isLike(last.table)) {
    last = { table, directories: findDirectories(table) };
  }
  return last.directories;
}

function findDirectories(table: IndexTable): Directories {
  const numbers = new Map<string, number>();
  const paths: string[] = [];
  const names: number[] = [];
  const numberOf = (path: string): number => {
    const known = numbers.get(path);
    if (known !== undefined) return known;
    if (path !== '') names[numberOf(parentOf(path))]! += 1;
    numbers.set(path, paths.length);
    names.push(0);
    return paths.push(path) - 1;
  };
  numberOf('');
  const ofEntry = new Uint32Array(table.count);
  const parent = parentsInOrder();
  let before = '';
  for (let number = 0; number < table.count; number++) {
    const path = table.path(number);
    const directory = numberOf(parent(path));
    ofEntry[number] = directory;
    // The stages of a conflict share one name.
    if (path !== before) names[directory]! += 1;
    before = path;
  }
  return { paths, ofEntry, names: Uint32Array.from(names) };
}

interface Look {
  work: string;
  table: IndexTable;
  states: DirectoryStates;
  plain: Uint8Array;
  /** Paths that git finds changed. */
  changed: Set<string>;
  files: Map<string, TrackedFile>;
}

/** From now on the entry is not plain: what its file is like is among `files`. */
function lookAtEntry(look: Look, number: number): TrackedFile {
  const { work, table, states, plain, changed, files } = look;
  const entry = table.entry(number);
  plain[number] = 0;
  const present = files.get(entry.path);
  if (present) {
    present.gitlink ||= entry.mode === MODE_GITLINK;
    return present;
  }
  const state = states.stateOf(parentOf(entry.path));
  const stat = state === 'real' ? lookAt(joinPath(work, entry.path)) : state;
  const found = typeof stat === 'string' ? null : stat;
  const gitlink = entry.mode === MODE_GITLINK;
  const isComparable = entry.stage === 0 && !entry.intentToAdd && !gitlink;
  const file: TrackedFile = {
    path: entry.path,
    kind: found ? kindOf(found) : stat === 'unreadable' ? 'unreadable' : 'missing',
    stat: found,
    entry: entry.stage === 0 ? entry : null,
    gitlink,
    statClean: found !== null && isComparable && !changed.has(entry.path),
  };
  files.set(entry.path, file);
  return file;
}

/** One link, and a mode that a fresh clone gives. */
const isUsual = ({ kind, stat }: TrackedFile): boolean =>
  kind === 'link' || (kind === 'file' && stat!.nlink === 1 && MODES_USUAL.has(stat!.mode & 0o7777));

/**
 * Whether git will see the next change of this file's inode: it compares whole seconds, so what changed
 * in the second of a look could change once more unseen.
 */
const isSettled = ({ entry, stat }: TrackedFile, clock: number): boolean =>
  Math.floor(stat!.ctimeMs / 1000) === entry!.stat.ctimeSeconds &&
  stat!.ctimeMs + SETTLED_MS <= clock;

/**
 * Where as many names are in a directory as the index has there, there is nothing beside them (unless
 * some of those lack: then it is looked at again). Only the others are compared name by name, and
 * those that are known to be whole are not read at all.
 */
async function findBeside(
  work: string,
  table: IndexTable,
  about: { directories: Directories; states: DirectoryStates; whole: Float64Array; clock: number },
): Promise<Map<string, Beside>> {
  const { directories, states, whole, clock } = about;
  const place = isInside(work) ? '.' : work;
  const beside = new Map<string, Beside>();
  for (const [number, path] of directories.paths.entries()) {
    const seen = states.directories.get(path);
    if (seen === undefined) continue;
    const { ctimeMs } = seen.stat;
    if (whole[number] === ctimeMs) continue;
    // The archive of the conversation is being made meanwhile.
    if (number % DIRECTORIES_AT_ONCE === 0) await turn();
    const full = toFs(path === '' ? place : joinPath(place, path));
    let names = 0;
    try {
      names = readdirSync(full).length;
    } catch {
      // The look at the names says what is the matter.
    }
    const isWhole = names === directories.names[number];
    if (!isWhole) compareNames(work, table, path, beside);
    whole[number] = isWhole && ctimeMs + SETTLED_MS <= clock ? ctimeMs : 0;
  }
  return beside;
}

function compareNames(
  work: string,
  table: IndexTable,
  directory: string,
  found: Map<string, Beside>,
): void {
  const beside: Beside = { files: [], directories: [], special: [], unreadable: [] };
  found.set(directory, beside);
  let children: Dirent[];
  try {
    const full = toFs(directory === '' ? work : joinPath(work, directory));
    children = readdirSync(full, { encoding: 'latin1', withFileTypes: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Gone in this moment: then its files lack as well.
    if (code !== 'ENOENT' && code !== 'ENOTDIR') beside.unreadable.push(directory);
    return;
  }
  const known = namesIn(table, directory);
  for (const child of children) {
    const path = joinPath(directory, child.name);
    const isKnownDirectory = known.directories.has(child.name) && child.isDirectory();
    if (child.name === '.git' || isKnownDirectory || known.files.has(child.name)) continue;
    if (child.isDirectory()) beside.directories.push(path);
    else if (child.isFile() || child.isSymbolicLink()) beside.files.push(path);
    else beside.special.push(path);
  }
}

/** What the index has in one directory, whatever is below that. */
function namesIn(
  table: IndexTable,
  directory: string,
): { files: Set<string>; directories: Set<string> } {
  const names = { files: new Set<string>(), directories: new Set<string>() };
  const prefix = directory === '' ? '' : `${directory}/`;
  for (let number = table.lowerBound(prefix); number < table.count;) {
    const path = table.path(number);
    if (!path.startsWith(prefix)) break;
    const slash = path.indexOf('/', prefix.length);
    if (slash < 0) {
      names.files.add(path.slice(prefix.length));
      number++;
    } else {
      names.directories.add(path.slice(prefix.length, slash));
      // "0" is the character after "/": the first path behind all that are below.
      number = table.lowerBound(`${path.slice(0, slash)}0`, number);
    }
  }
  return names;
}
