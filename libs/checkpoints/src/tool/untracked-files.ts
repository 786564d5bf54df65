import { lstatSync, readdirSync, type Dirent } from 'node:fs';
import { isUtf8, joinPath, splitNul, toFs, toReport, toText } from './byte-path.ts';
import type { SkippedEntry, WarningEntry } from './contract.ts';
import type { Shadow } from './shadow.ts';
import type { TrackedScan } from './tracked-files.ts';

/**
 * What is in the checkout and not in the index. git decides what is ignored; a walk of the
 * directories finds what git never lists: empty directories, special files, what cannot be read.
 */
export interface UntrackedScan {
  /** Files and links. */
  files: string[];
  emptyDirectories: string[];
  /** Nested repositories, without a slash at the end. */
  nested: string[];
  ignored: { count: number; paths: string[] };
  skipped: SkippedEntry[];
  warnings: WarningEntry[];
}

/** Ignored paths that a report names; the rest is only counted. */
const IGNORED_PATHS_MAX = 200;
/** Arguments of one `git ls-files`; above it the whole tree is listed instead. */
const ARGUMENT_BYTES_MAX = 100_000;
const MESSAGE_LINES_MAX = 20;

const LIST = ['ls-files', '-z', '--others', '--exclude-standard'];

/** Started before the tracked files are looked at: both take about the same time. */
export const listUntracked = async (shadow: Shadow): Promise<{ names: string[]; message: string }> => {
  const result = await shadow.git([...LIST, '--directory']);
  return { names: splitNul(result.stdout), message: result.message };
};

export async function scanUntracked(
  shadow: Shadow,
  tracked: TrackedScan,
  listing: { names: string[]; message: string },
): Promise<UntrackedScan> {
  const scan: UntrackedScan = {
    files: [],
    emptyDirectories: [],
    nested: [],
    ignored: { count: 0, paths: [] },
    skipped: [],
    warnings: [],
  };
  noteMessages(listing.message, scan);
  const whole: string[] = [];
  for (const name of listing.names) {
    if (!name.endsWith('/')) scan.files.push(name);
    else if (isRepository(shadow.work, name.slice(0, -1))) scan.nested.push(name.slice(0, -1));
    else whole.push(name.slice(0, -1));
  }
  for (const file of tracked.files.values()) {
    // git does not list a directory under the name of a file that the index has.
    if (file.kind === 'directory' && !file.gitlink) whole.push(file.path);
  }
  const inside = await listInside(shadow, whole, scan);
  const listed = new Set<string>([...scan.files, ...scan.nested, ...whole]);
  for (const directory of tracked.directories.keys()) {
    walkTracked(shadow.work, directory, tracked, listed, scan);
  }
  const candidates: string[] = [];
  for (const directory of whole) walkUntracked(shadow.work, directory, inside, candidates, scan);
  await keepUnlessIgnored(shadow, candidates, scan);
  addGitlinks(shadow.work, tracked, scan);
  return scan;
}

function addGitlinks(work: string, tracked: TrackedScan, scan: UntrackedScan): void {
  for (const file of tracked.files.values()) {
    if (file.gitlink && file.kind === 'directory' && isRepository(work, file.path)) {
      scan.nested.push(file.path);
    }
  }
  scan.nested = [...new Set(scan.nested)].sort();
}

export function isRepository(work: string, path: string): boolean {
  return exists(joinPath(joinPath(work, path), '.git'));
}

const exists = (path: string): boolean => {
  try {
    return lstatSync(toFs(path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
};

/** What git only says on stderr (paths that are too long, directories it cannot open). */
function noteMessages(message: string, scan: UntrackedScan): void {
  for (const line of message.split('\n').slice(0, MESSAGE_LINES_MAX)) {
    if (line !== '') scan.warnings.push({ reason: `untracked files: ${toReport(line)}` });
  }
}

/** Lists the files in directories that are untracked as a whole, by their own ignore rules. */
async function listInside(
  shadow: Shadow,
  whole: string[],
  scan: UntrackedScan,
): Promise<Set<string>> {
  const inside = new Set<string>();
  if (whole.length === 0) return inside;
  const bytes = whole.reduce((sum, path) => sum + path.length + 1, 0);
  const narrow = bytes <= ARGUMENT_BYTES_MAX && whole.every(isUtf8);
  const args = narrow ? [...LIST, '--', ...whole.map(toText)] : LIST;
  const result = await shadow.git(args);
  noteMessages(result.message, scan);
  const prefixes = new Set(whole);
  for (const name of splitNul(result.stdout)) {
    const path = name.endsWith('/') ? name.slice(0, -1) : name;
    if (!narrow && !isBelow(path, prefixes)) continue;
    if (name.endsWith('/')) scan.nested.push(path);
    else scan.files.push(path);
    inside.add(path);
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
      inside.add(path.slice(0, at));
    }
  }
  return inside;
}

function isBelow(path: string, prefixes: Set<string>): boolean {
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    if (prefixes.has(path.slice(0, at))) return true;
  }
  return false;
}

function readDirectory(work: string, path: string, scan: UntrackedScan): Dirent[] | null {
  try {
    return readdirSync(toFs(path === '' ? work : joinPath(work, path)), {
      encoding: 'latin1',
      withFileTypes: true,
    });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    if (code === 'EACCES' || code === 'EPERM') {
      scan.skipped.push({ path: toReport(path), bytes: 0, reason: 'unreadable' });
    } else {
      scan.warnings.push({ path: toReport(path).slice(0, 300), reason: `not readable: ${code}` });
    }
    return null;
  }
}

const isSpecial = (child: Dirent): boolean =>
  child.isFIFO() || child.isSocket() || child.isBlockDevice() || child.isCharacterDevice();

function noteSpecial(path: string, scan: UntrackedScan): void {
  scan.warnings.push({
    path: toReport(path),
    reason: 'special file (pipe, socket or device) is not kept',
  });
}

function noteIgnored(path: string, scan: UntrackedScan): void {
  scan.ignored.count++;
  if (scan.ignored.paths.length < IGNORED_PATHS_MAX) scan.ignored.paths.push(toReport(path));
}

function walkTracked(
  work: string,
  directory: string,
  tracked: TrackedScan,
  listed: Set<string>,
  scan: UntrackedScan,
): void {
  const children = readDirectory(work, directory, scan);
  // Emptied of its tracked files: git knows nothing of it any more.
  if (children?.every(isSpecial) && directory !== '') scan.emptyDirectories.push(directory);
  for (const child of children ?? []) {
    if (child.name === '.git') continue;
    const path = joinPath(directory, child.name);
    if (tracked.files.has(path) || tracked.directories.has(path) || listed.has(path)) continue;
    if (isSpecial(child)) noteSpecial(path, scan);
    else noteIgnored(child.isDirectory() ? `${path}/` : path, scan);
  }
}

function walkUntracked(
  work: string,
  directory: string,
  inside: Set<string>,
  candidates: string[],
  scan: UntrackedScan,
): void {
  const children = readDirectory(work, directory, scan);
  if (children === null) return;
  let onlySpecial = true;
  for (const child of children) {
    const path = joinPath(directory, child.name);
    if (isSpecial(child)) {
      noteSpecial(path, scan);
      continue;
    }
    onlySpecial = false;
    if (child.name === '.git' || scan.nested.includes(path)) continue;
    if (child.isDirectory() && (inside.has(path) || isHollow(work, path, scan))) {
      walkUntracked(work, path, inside, candidates, scan);
    } else if (!inside.has(path)) noteIgnored(child.isDirectory() ? `${path}/` : path, scan);
  }
  if (onlySpecial) candidates.push(directory);
}

/** Whether a directory that git lists nothing of holds only directories and special files. */
function isHollow(work: string, directory: string, scan: UntrackedScan): boolean {
  const children = readDirectory(work, directory, scan) ?? [];
  if (children.some((child) => !child.isDirectory() && !isSpecial(child))) return false;
  return children.every(
    (child) => !child.isDirectory() || isHollow(work, joinPath(directory, child.name), scan),
  );
}

async function keepUnlessIgnored(
  shadow: Shadow,
  candidates: string[],
  scan: UntrackedScan,
): Promise<void> {
  if (candidates.length === 0) return;
  const input = Buffer.from(candidates.map((path) => `${path}/\0`).join(''), 'latin1');
  const result = await shadow.git(['check-ignore', '-z', '--stdin'], { input });
  const ignored = new Set(splitNul(result.stdout).map((path) => path.replace(/\/$/, '')));
  for (const path of candidates) {
    if (ignored.has(path)) noteIgnored(`${path}/`, scan);
    else scan.emptyDirectories.push(path);
  }
}

