import { lstatSync, type BigIntStats } from 'node:fs';
import { joinPath, parentOf, toFs } from './byte-path.ts';
import { MODE_GITLINK, MODE_LINK, type IndexEntry } from './index-file.ts';

/** What is on disk where the index has a path. One lstat per file serves comparison and record. */
export interface TrackedFile {
  path: string;
  kind: 'file' | 'link' | 'directory' | 'special' | 'missing' | 'unreadable';
  /** Absent when missing or unreadable. */
  stat: BigIntStats | null;
  /** Stage 0, when there is one. */
  entry: IndexEntry | null;
  gitlink: boolean;
  /** git would not look at the content: all cached stat data match and are older than the index. */
  statClean: boolean;
}

export interface TrackedDirectory {
  path: string;
  stat: BigIntStats;
}

export interface TrackedScan {
  files: Map<string, TrackedFile>;
  /** Directories that hold tracked files and are real directories on disk, parents first. */
  directories: Map<string, TrackedDirectory>;
  /** Directories that hold tracked files but cannot be entered. */
  unreadable: string[];
}

const kindOf = (stat: BigIntStats): TrackedFile['kind'] => {
  if (stat.isFile()) return 'file';
  if (stat.isSymbolicLink()) return 'link';
  return stat.isDirectory() ? 'directory' : 'special';
};

const lookAt = (path: string): BigIntStats | 'missing' | 'unreadable' => {
  try {
    return lstatSync(toFs(path), { bigint: true, throwIfNoEntry: false }) ?? 'missing';
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code === 'EACCES' || code === 'EPERM' ? 'unreadable' : 'missing';
  }
};

/** `indexSeconds` is the index file's own time: entries that are not older are racy. */
export function scanTracked(
  work: string,
  entries: readonly IndexEntry[],
  indexSeconds: number,
): TrackedScan {
  const scan: TrackedScan = { files: new Map(), directories: new Map(), unreadable: [] };
  const known = new Map<string, 'real' | 'other' | 'unreadable'>();
  const directoryState = (path: string): 'real' | 'other' | 'unreadable' => {
    const seen = known.get(path);
    if (seen !== undefined) return seen;
    const parent = path === '' ? 'real' : directoryState(parentOf(path));
    let state = parent;
    if (parent === 'real') {
      const stat = lookAt(path === '' ? work : joinPath(work, path));
      if (stat === 'unreadable') state = 'unreadable';
      else if (stat === 'missing' || !stat.isDirectory()) state = 'other';
      else scan.directories.set(path, { path, stat });
    }
    known.set(path, state);
    return state;
  };
  directoryState('');
  for (const entry of entries) {
    const present = scan.files.get(entry.path);
    if (present) {
      present.gitlink ||= entry.mode === MODE_GITLINK;
      continue;
    }
    const state = directoryState(parentOf(entry.path));
    const stat = state === 'real' ? lookAt(joinPath(work, entry.path)) : state;
    const found = typeof stat === 'string' ? null : stat;
    scan.files.set(entry.path, {
      path: entry.path,
      kind: found ? kindOf(found) : stat === 'unreadable' ? 'unreadable' : 'missing',
      stat: found,
      entry: entry.stage === 0 ? entry : null,
      gitlink: entry.mode === MODE_GITLINK,
      statClean:
        found !== null && entry.stage === 0 && isStatClean(entry, found, indexSeconds),
    });
  }
  scan.unreadable = [...known].flatMap(([path, state]) => (state === 'unreadable' ? [path] : []));
  return scan;
}

const NANOS = 1_000_000_000n;
const low32 = (value: bigint): number => Number(value & 0xffff_ffffn);

function isStatClean(entry: IndexEntry, stat: BigIntStats, indexSeconds: number): boolean {
  const cached = entry.stat;
  if (entry.intentToAdd || entry.mode === MODE_GITLINK) return false;
  if (cached.mtimeSeconds >= indexSeconds) return false;
  return (
    cached.size === low32(stat.size) &&
    cached.mtimeSeconds === low32(stat.mtimeNs / NANOS) &&
    cached.mtimeNanos === Number(stat.mtimeNs % NANOS) &&
    cached.ctimeSeconds === low32(stat.ctimeNs / NANOS) &&
    cached.ctimeNanos === Number(stat.ctimeNs % NANOS) &&
    cached.inode === low32(stat.ino) &&
    cached.uid === low32(stat.uid) &&
    cached.gid === low32(stat.gid) &&
    entry.mode === diskMode(stat)
  );
}

/** The mode git would record for a file or link on disk. */
export const diskMode = (stat: BigIntStats): number => {
  if (stat.isSymbolicLink()) return MODE_LINK;
  return (Number(stat.mode) & 0o100) === 0 ? 0o100644 : 0o100755;
};
