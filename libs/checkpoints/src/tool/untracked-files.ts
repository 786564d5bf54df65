import { lstatSync, readdirSync, type Dirent } from 'node:fs';
import { isUtf8, joinPath, parentOf, splitNul, toFs, toReport, toText } from './byte-path.ts';
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

/** Names that the index does not have; those of directories end in a slash. */
export interface Listing {
  names: string[];
  /** Ignored names, when a report wants them. */
  ignored?: string[];
  message: string;
}

export const listUntracked = async (shadow: Shadow): Promise<Listing> => {
  const result = await shadow.git([...LIST, '--directory']);
  return { names: splitNul(result.stdout), message: result.message };
};

/**
 * The same of names that are known to be there: git is only asked what is ignored. `index` says that
 * ignore rules are to be read from the index where a sparse checkout leaves their file off the disk.
 */
export async function judgeBeside(
  shadow: Shadow,
  beside: { files: readonly string[]; directories: readonly string[] },
  wanted: { index: boolean; ignored: boolean },
): Promise<Listing> {
  const names = [...beside.files, ...beside.directories];
  if (names.length === 0) return { names, ignored: [], message: '' };
  const { status, ignored: isIgnored, message } = await checkIgnore(shadow, names, wanted.index);
  // 1: none is ignored. Above, what is there has changed meanwhile: git looks for itself.
  if (status > 1) return { ...(await listUntracked(shadow)), ignored: [] };
  const marked = [...beside.files, ...beside.directories.map((name) => `${name}/`)].sort();
  const ignored = marked.filter((name) => isIgnored.has(name.replace(/\/$/, '')));
  const left = new Set(ignored);
  return {
    names: marked.filter((name) => !left.has(name)),
    ...(wanted.ignored ? { ignored } : {}),
    message,
  };
}

/** Which of these paths, without slashes at their ends, are ignored. */
async function checkIgnore(
  shadow: Shadow,
  paths: readonly string[],
  index: boolean,
): Promise<{ status: number; ignored: Set<string>; message: string }> {
  const args = ['check-ignore', '-z', '--stdin', ...(index ? [] : ['--no-index'])];
  // This one command does not know literal pathspecs: behind "./" a name is nothing but a name.
  const input = Buffer.from(paths.map((path) => `./${path}\0`).join(''), 'latin1');
  const extra = { GIT_LITERAL_PATHSPECS: '0' };
  const { status, stdout, message } = await shadow.git(args, { input, extra });
  const ignored = new Set(splitNul(stdout).map((path) => path.slice(2)));
  return { status, ignored, message };
}

export async function scanUntracked(
  shadow: Shadow,
  tracked: TrackedScan,
  listing: Listing,
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
  const [inside] = await Promise.all([
    listInside(shadow, whole, scan),
    listing.ignored && noteIgnored(shadow, listing.ignored, whole, scan),
  ]);
  const candidates: string[] = [];
  for (const directory of whole) walkUntracked(shadow.work, directory, inside, candidates, scan);
  await keepUnlessIgnored(shadow, candidates, scan);
  addGitlinks(shadow.work, tracked, scan);
  noteEmptied(shadow.work, tracked, scan);
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
  const result = await shadow.git([...LIST, ...below(whole)]);
  noteMessages(result.message, scan);
  const prefixes = new Set(whole);
  for (const name of splitNul(result.stdout)) {
    const path = name.endsWith('/') ? name.slice(0, -1) : name;
    if (!prefixes.has(path) && !isBelow(path, prefixes)) continue;
    if (name.endsWith('/')) scan.nested.push(path);
    else scan.files.push(path);
    inside.add(path);
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
      inside.add(path.slice(0, at));
    }
  }
  return inside;
}

/** Arguments that limit a listing to these directories; none where they cannot be given. */
function below(directories: readonly string[]): string[] {
  const bytes = directories.reduce((sum, path) => sum + path.length + 1, 0);
  const isNarrow = bytes <= ARGUMENT_BYTES_MAX && directories.every(isUtf8);
  return isNarrow ? ['--', ...directories.map(toText)] : [];
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
export function noteUnreadable(path: string, scan: Pick<UntrackedScan, 'skipped'>): void {
  const shown = toReport(path);
  if (scan.skipped.some((item) => item.path === shown)) return;
  scan.skipped.push({ path: shown, bytes: 0, reason: 'unreadable' });
}

const isSpecial = (child: Dirent): boolean =>
  child.isFIFO() || child.isSocket() || child.isBlockDevice() || child.isCharacterDevice();

export function noteSpecial(path: string, warnings: WarningEntry[]): void {
  const reason = 'special file (pipe, socket or device) is not kept';
  warnings.push({ path: toReport(path), reason });
}

/** Names (not contents) of what the ignore rules cover, whole directories as one. */
async function noteIgnored(
  shadow: Shadow,
  found: readonly string[],
  whole: readonly string[],
  scan: UntrackedScan,
): Promise<void> {
  const names = [...found];
  if (whole.length > 0) {
    const { stdout } = await shadow.git([...LIST, '--ignored', '--directory', ...below(whole)]);
    names.push(...splitNul(stdout).filter((name) => isBelow(name, new Set(whole))));
  }
  names.sort();
  scan.ignored.count = names.length;
  scan.ignored.paths = names.slice(0, IGNORED_PATHS_MAX).map(toReport);
}

/** Directories whose tracked files are all gone and that hold nothing else: git forgets them. */
function noteEmptied(work: string, tracked: TrackedScan, scan: UntrackedScan): void {
  const candidates = new Set<string>();
  for (const { kind, path } of tracked.files.values()) {
    if (kind !== 'missing') continue;
    for (let at = parentOf(path); at !== '' && !candidates.has(at); at = parentOf(at)) {
      candidates.add(at);
    }
  }
  for (const directory of candidates) {
    if (!tracked.directories.has(directory) || scan.emptyDirectories.includes(directory)) continue;
    const children = readDirectory(work, directory, scan);
    if (children?.every(isSpecial)) scan.emptyDirectories.push(directory);
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
      noteSpecial(path, scan.warnings);
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
  const { ignored } = await checkIgnore(shadow, candidates, true);
  for (const path of candidates) {
    if (!ignored.has(path)) scan.emptyDirectories.push(path);
  }
}
