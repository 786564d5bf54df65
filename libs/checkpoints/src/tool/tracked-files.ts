import { lstatSync, utimesSync, writeFileSync, type Stats } from 'node:fs';
import { joinPath, parentOf, parentsInOrder, splitNul, toFs, toText } from './byte-path.ts';
import {
  MODE_GITLINK,
  MODE_LINK,
  serialiseIndex,
  type IndexEntry,
  type TableIndex,
} from './index-file.ts';
import { gitOrThrow, type Shadow } from './shadow.ts';

/** What is on disk where the index has a path. */
export interface TrackedFile {
  path: string;
  kind: 'file' | 'link' | 'directory' | 'special' | 'missing' | 'unreadable';
  /** Absent when missing or unreadable, and where the file is known to be as its entry says. */
  stat: Stats | null;
  /** Stage 0, when there is one. */
  entry: IndexEntry | null;
  gitlink: boolean;
  /** git would not look at the content, or it is the same: all cached stat data match. */
  statClean: boolean;
}

export interface TrackedDirectory {
  path: string;
  stat: Stats;
}

export interface TrackedScan {
  files: Map<string, TrackedFile>;
  /** Directories that hold tracked files and are real directories on disk, parents first. */
  directories: Map<string, TrackedDirectory>;
  /** Directories that hold tracked files but cannot be entered. */
  unreadable: string[];
}

export const kindOf = (stat: Stats): TrackedFile['kind'] => {
  if (stat.isFile()) return 'file';
  if (stat.isSymbolicLink()) return 'link';
  return stat.isDirectory() ? 'directory' : 'special';
};

export const lookAt = (path: string): Stats | 'missing' | 'unreadable' => {
  try {
    return lstatSync(toFs(path), { throwIfNoEntry: false }) ?? 'missing';
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code === 'EACCES' || code === 'EPERM' ? 'unreadable' : 'missing';
  }
};

/**
 * Paths whose cached stat data do not fit the disk, by git's threaded comparison in the shadow: in a
 * large tree cheaper than looking at each file here. Racy entries are compared by content.
 */
export async function findChanged(
  shadow: Shadow,
  index: TableIndex,
  indexSeconds: number,
): Promise<string[]> {
  const args = ['diff-files', '-z', '--name-only', '--ignore-submodules=all'];
  let extra: Record<string, string> = {};
  if (index.flagged.some((entry) => entry.assumeUnchanged || entry.skipWorktree)) {
    // git would not look at flagged entries.
    const plain = joinPath(shadow.directory, 'plain.index');
    const bare = index.entries.map((entry) => ({
      ...entry,
      assumeUnchanged: false,
      skipWorktree: false,
    }));
    writeFileSync(toFs(plain), serialiseIndex(bare, shadow.format, null));
    utimesSync(toFs(plain), indexSeconds, indexSeconds);
    extra = { GIT_INDEX_FILE: toText(plain) };
  }
  return splitNul(await gitOrThrow(shadow, args, { extra }));
}

/** Every file, looked at; none is taken for clean without a look at its content. */
export function scanTracked(work: string, entries: readonly IndexEntry[]): TrackedScan {
  const { directories, stateOf, unreadable } = directoryStates(work);
  const scan: TrackedScan = { files: new Map(), directories, unreadable: [] };
  const parent = parentsInOrder();
  for (const entry of entries) {
    const present = scan.files.get(entry.path);
    if (present) {
      present.gitlink ||= entry.mode === MODE_GITLINK;
      continue;
    }
    const state = stateOf(parent(entry.path));
    const stat = state === 'real' ? lookAt(joinPath(work, entry.path)) : state;
    const found = typeof stat === 'string' ? null : stat;
    scan.files.set(entry.path, {
      path: entry.path,
      kind: found ? kindOf(found) : stat === 'unreadable' ? 'unreadable' : 'missing',
      stat: found,
      entry: entry.stage === 0 ? entry : null,
      gitlink: entry.mode === MODE_GITLINK,
      statClean: false,
    });
  }
  scan.unreadable = unreadable();
  return scan;
}

/** The same where every file is known to be there as its entry says. */
export function scanProven(work: string, entries: readonly IndexEntry[]): TrackedScan {
  const { directories, stateOf, unreadable } = directoryStates(work);
  const scan: TrackedScan = { files: new Map(), directories, unreadable: [] };
  const parent = parentsInOrder();
  for (const entry of entries) {
    const gitlink = entry.mode === MODE_GITLINK;
    const isReal = stateOf(parent(entry.path)) === 'real';
    const stat = gitlink && isReal ? lookAt(joinPath(work, entry.path)) : null;
    const found = stat === null || typeof stat === 'string' ? null : stat;
    const plain = entry.mode === MODE_LINK ? 'link' : 'file';
    scan.files.set(entry.path, {
      path: entry.path,
      kind: gitlink ? (found ? kindOf(found) : 'missing') : plain,
      stat: found,
      entry,
      gitlink,
      statClean: false,
    });
  }
  scan.unreadable = unreadable();
  return scan;
}

type DirectoryState = 'real' | 'other' | 'unreadable';

export interface DirectoryStates {
  /** Real directories that were asked for, parents first. */
  directories: Map<string, TrackedDirectory>;
  stateOf(path: string): DirectoryState;
  unreadable(): string[];
}

/** Looks at each directory once, however many files it holds; nothing is seen through a link. */
export function directoryStates(work: string): DirectoryStates {
  const directories = new Map<string, TrackedDirectory>();
  const known = new Map<string, DirectoryState>();
  const stateOf = (path: string): DirectoryState => {
    const seen = known.get(path);
    if (seen !== undefined) return seen;
    const parent = path === '' ? 'real' : stateOf(parentOf(path));
    let state = parent;
    if (parent === 'real') {
      const stat = lookAt(path === '' ? work : joinPath(work, path));
      if (stat === 'unreadable') state = 'unreadable';
      else if (stat === 'missing' || !stat.isDirectory()) state = 'other';
      else directories.set(path, { path, stat });
    }
    known.set(path, state);
    return state;
  };
  stateOf('');
  const unreadable = (): string[] =>
    [...known].flatMap(([path, state]) => (state === 'unreadable' ? [path] : []));
  return { directories, stateOf, unreadable };
}

/** The mode git would record for a file or link on disk. */
export const diskMode = (stat: Pick<Stats, 'mode' | 'isSymbolicLink'>): number => {
  if (stat.isSymbolicLink()) return MODE_LINK;
  return (stat.mode & 0o100) === 0 ? 0o100644 : 0o100755;
};

/** Time of a file in whole seconds and nanoseconds; the index has it exactly when it matches. */
export function exactTime(work: string, file: TrackedFile): [number, number] {
  if (file.statClean && file.entry) {
    return [file.entry.stat.mtimeSeconds, file.entry.stat.mtimeNanos];
  }
  return timeOnDisk(joinPath(work, file.path)) ?? splitTime(file.stat?.mtimeMs ?? 0);
}

export function timeOnDisk(path: string): [number, number] | null {
  const stat = lstatSync(toFs(path), { bigint: true, throwIfNoEntry: false });
  if (!stat) return null;
  return [Number(stat.mtimeNs / 1_000_000_000n), Number(stat.mtimeNs % 1_000_000_000n)];
}

export const splitTime = (milliseconds: number): [number, number] => {
  const seconds = Math.floor(milliseconds / 1000);
  return [seconds, Math.round((milliseconds - seconds * 1000) * 1e6)];
};
