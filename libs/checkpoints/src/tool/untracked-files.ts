import { lstatSync, readdirSync, type Dirent } from 'node:fs';
import {
  isUtf8,
  joinPath,
  parentOf,
  parentsInOrder,
  splitNul,
  toFs,
  toReport,
  toText,
} from './byte-path.ts';
import type { SkippedEntry, WarningEntry } from './contract.ts';
import { runProcess } from './run-process.ts';
import { cleanEnvironment, type Shadow } from './shadow.ts';
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
/** Directories named to one `find`: far below the limit of arguments. */
const FIND_DIRECTORIES_MAX = 10_000;

const LIST = ['ls-files', '-z', '--others', '--exclude-standard'];

/** Started before the tracked files are looked at: both take about the same time. */
export const listUntracked = async (
  shadow: Shadow,
): Promise<{ names: string[]; message: string }> => {
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
  const candidates: string[] = [];
  for (const directory of whole) walkUntracked(shadow.work, directory, inside, candidates, scan);
  await keepUnlessIgnored(shadow, candidates, scan);
  addGitlinks(shadow.work, tracked, scan);
  noteEmptied(shadow.work, tracked, scan);
  return scan;
}

type Reported = Pick<UntrackedScan, 'ignored' | 'warnings'>;

export interface Unkept extends Reported {
  /** Files beside tracked ones with several links, or another mode than 644 and 755. */
  odd: string[];
}

/** What needs a look at every directory; the ignored paths are for a capture's reports only. */
export async function findUnkept(
  shadow: Shadow,
  directories: readonly string[],
  wanted: { ignored: boolean },
): Promise<Unkept> {
  const found: Unkept = { ignored: { count: 0, paths: [] }, warnings: [], odd: [] };
  await Promise.all([
    wanted.ignored ? noteIgnoredPaths(shadow, found) : undefined,
    noteOddFiles(shadow.work, directories, found),
  ]);
  return found;
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
    const closed = /could not open directory '(.*)\/': Permission denied/.exec(line)?.[1];
    if (closed !== undefined) {
      noteUnreadable(closed, scan);
    } else if (line !== '') {
      scan.warnings.push({ reason: `untracked files: ${toReport(line).slice(0, 500)}` });
    }
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
      noteUnreadable(path, scan);
    } else {
      scan.warnings.push({ path: toReport(path).slice(0, 300), reason: `not readable: ${code}` });
    }
    return null;
  }
}

/** git and the walk may both meet the same closed directory. */
function noteUnreadable(path: string, scan: UntrackedScan): void {
  const shown = toReport(path);
  if (scan.skipped.some((item) => item.path === shown)) return;
  scan.skipped.push({ path: shown, bytes: 0, reason: 'unreadable' });
}

const isSpecial = (child: Dirent): boolean =>
  child.isFIFO() || child.isSocket() || child.isBlockDevice() || child.isCharacterDevice();

function noteSpecial(path: string, scan: Reported): void {
  scan.warnings.push({
    path: toReport(path),
    reason: 'special file (pipe, socket or device) is not kept',
  });
}

function noteIgnored(path: string, scan: Reported): void {
  scan.ignored.count++;
  if (scan.ignored.paths.length < IGNORED_PATHS_MAX) scan.ignored.paths.push(toReport(path));
}

/** Directories whose tracked files are all gone and that hold nothing else: git forgets them. */
function noteEmptied(work: string, tracked: TrackedScan, scan: UntrackedScan): void {
  const full = new Set<string>();
  const parent = parentsInOrder();
  const fill = (path: string): void => {
    for (let at = parent(path); !full.has(at); at = parentOf(at)) {
      full.add(at);
      if (at === '') return;
    }
  };
  for (const file of tracked.files.values()) {
    if (file.kind !== 'missing') fill(file.path);
  }
  for (const path of [...scan.files, ...scan.nested, ...scan.emptyDirectories]) fill(path);
  for (const directory of tracked.directories.keys()) {
    if (directory === '' || full.has(directory)) continue;
    const children = readDirectory(work, directory, scan);
    if (children?.every(isSpecial)) scan.emptyDirectories.push(directory);
  }
}

/** Names (not contents) of what the ignore rules cover, whole directories as one. */
async function noteIgnoredPaths(shadow: Shadow, scan: Reported): Promise<void> {
  const args = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory'];
  const { stdout } = await shadow.git(args);
  for (const path of splitNul(stdout)) noteIgnored(path, scan);
}

const SPECIAL = '-type p -o -type s -o -type b -o -type c';
const ODD = '-type f ( ! ( -perm 644 -o -perm 755 ) -o -links +1 )';

/** Pipes, sockets, devices and odd files beside tracked ones: `find` is far faster at it. */
async function noteOddFiles(
  work: string,
  directories: readonly string[],
  found: Unkept,
): Promise<void> {
  const usable = directories.filter(isUtf8);
  for (let at = 0; at < usable.length; at += FIND_DIRECTORIES_MAX) {
    const names = usable.slice(at, at + FIND_DIRECTORIES_MAX);
    const places = names.map((name) => toText(name === '' ? '.' : `./${name}`));
    const test = `-mindepth 1 -maxdepth 1 ( ${SPECIAL} -o ${ODD} ) -print0`.split(' ');
    const options = { env: cleanEnvironment(), cwd: toText(work) };
    const { stdout } = await runProcess('find', [...places, ...test], options);
    for (const name of splitNul(stdout)) {
      const path = name.replace(/^(?:\.\/)+/, '');
      const stat = lstatSync(toFs(joinPath(work, path)), { throwIfNoEntry: false });
      if (stat?.isFile()) found.odd.push(path);
      else if (stat) noteSpecial(path, found);
    }
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
    }
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
    if (!ignored.has(path)) scan.emptyDirectories.push(path);
  }
}
