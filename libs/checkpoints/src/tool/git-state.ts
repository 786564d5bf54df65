import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { joinPath, toFs, toReport } from './byte-path.ts';
import type { ConfigEntry } from './config-file.ts';
import { readConfig } from './config-file.ts';
import { recordConfig } from './configuration.ts';
import type { WarningEntry } from './contract.ts';
import type { CheckoutScan } from './checkout-scan.ts';
import type { TableIndex } from './index-file.ts';
import type { IndexTable } from './index-table.ts';
import type { NestedScan } from './nested-repositories.ts';
import { isLocalRef, type Ref, type Repository, type SymbolicRef } from './repository.ts';
import { exactTime, splitTime } from './tracked-files.ts';
import type { WorktreeContent } from './snapshot-trees.ts';

/**
 * The part `gitstate`: one JSON object with what git knows and no git object holds. Names and
 * contents are byte strings (one character per byte), so any file name survives.
 */
export interface GitState {
  format: 1;
  head: { ref: string | null; id: string | null };
  trees: { worktree: string; index: string };
  index: {
    present: boolean;
    /** mode, id, stage, path */
    conflicts: [number, string, number, string][];
    /** mode, path */
    intent_to_add: [number, string][];
    skip_worktree: string[];
    assume_unchanged: string[];
    /** path, cached size to carry over (0: compare the content) */
    dirty: [string, number][];
    /** Body of the resolve-undo extension, byte string. */
    resolve_undo: string | null;
  };
  refs: Ref[];
  symbolic_refs: SymbolicRef[];
  /** Remote-tracking refs of other remotes than origin: restored where their commit is there. */
  other_remotes: Ref[];
  /** Files below the git directory: operation state, logs, info, hooks. */
  files: StateFile[];
  config: ConfigEntry[];
  config_worktree: ConfigEntry[] | null;
  /** Repositories inside the checkout. */
  nested_repositories: string[];
  /** Of repositories inside the checkout, by path below the work directory. */
  nested_config: { path: string; entries: ConfigEntry[] }[];
  /** Unmodified git-lfs files, to be made from their pointer. */
  large_files: string[];
  /** Changed content that a cap or a read error kept out; the index's entry stands there. */
  kept_back: string[];
  /** In the order of the work tree's paths: whole seconds, nanoseconds. */
  times: { seconds: number[]; nanos: number[] };
  /** path, mode bits, where they are not 644, 755 (files) or 755 (directories). */
  modes: [string, number][];
  /** path, seconds, nanoseconds */
  directory_times: [string, number, number][];
}

export interface StateFile {
  path: string;
  mode: number;
  content: string;
  link?: true;
}

/** Files of an operation in progress; object ids named in them are kept as roots (R5). */
const OPERATION_FILES = [
  'MERGE_HEAD',
  'MERGE_MSG',
  'MERGE_MODE',
  'MERGE_RR',
  'MERGE_AUTOSTASH',
  'AUTO_MERGE',
  'CHERRY_PICK_HEAD',
  'REVERT_HEAD',
  'REBASE_HEAD',
  'SQUASH_MSG',
  'ORIG_HEAD',
  'COMMIT_EDITMSG',
  'FETCH_HEAD',
  'BISECT_LOG',
  'BISECT_START',
  'BISECT_TERMS',
  'BISECT_NAMES',
  'BISECT_EXPECTED_REV',
  'BISECT_ANCESTORS_OK',
  'BISECT_FIRST_PARENT',
  'BISECT_HEAD',
  'BISECT_RUN',
  'rebase-merge',
  'rebase-apply',
  'sequencer',
];
/** Of the above, those that only describe the past: their ids are no roots. */
const NO_ROOTS = new Set(['FETCH_HEAD', 'COMMIT_EDITMSG']);

const STATE_BYTES_MAX = 32 * 1024 * 1024;
const STATE_FILES_MAX = 20_000;
/** Of a longer reflog the newest lines are kept. */
const LOG_BYTES_MAX = 256 * 1024;

export const isOperationFile = (path: string): boolean =>
  OPERATION_FILES.includes(path.split('/')[0]!);

interface Collector {
  files: StateFile[];
  bytes: number;
  warnings: WarningEntry[];
}

function collect(collector: Collector, root: string, path: string, bytesMax?: number): void {
  const full = toFs(joinPath(root, path));
  const stat = lstatSync(full, { throwIfNoEntry: false });
  if (!stat) return;
  if (stat.isDirectory()) {
    for (const name of readdirSync(full, { encoding: 'latin1' })) {
      if (!name.endsWith('.lock')) collect(collector, root, joinPath(path, name), bytesMax);
    }
    return;
  }
  if (!stat.isFile()) return;
  if (collector.bytes + stat.size > STATE_BYTES_MAX || collector.files.length >= STATE_FILES_MAX) {
    collector.warnings.push({ path: toReport(joinPath('.git', path)), reason: 'over the cap' });
    return;
  }
  let content = readFileSync(full).toString('latin1');
  if (bytesMax !== undefined && content.length > bytesMax) {
    content = content.slice(-bytesMax);
    content = content.slice(content.indexOf('\n') + 1);
  }
  collector.bytes += content.length;
  collector.files.push({ path, mode: stat.mode & 0o7777, content });
}

/** Operation files, logs, info files, recorded conflict resolutions and hooks. */
export function collectStateFiles(repository: Repository, warnings: WarningEntry[]): StateFile[] {
  const { gitDirectory, commonDirectory } = repository;
  const collector: Collector = { files: [], bytes: 0, warnings };
  for (const name of OPERATION_FILES) collect(collector, gitDirectory, name);
  collect(collector, gitDirectory, 'logs/HEAD', LOG_BYTES_MAX);
  for (const ref of [...repository.refs, ...repository.symbolicRefs]) {
    if (!isLocalRef(ref.name)) continue;
    // The stash is its log: it is never shortened.
    const bytesMax = ref.name === 'refs/stash' ? undefined : LOG_BYTES_MAX;
    collect(collector, commonDirectory, `logs/${ref.name}`, bytesMax);
  }
  for (const name of ['info/exclude', 'info/attributes']) collect(collector, commonDirectory, name);
  collect(collector, gitDirectory, 'info/sparse-checkout');
  collect(collector, commonDirectory, 'rr-cache');
  collectHooks(collector, commonDirectory);
  return collector.files;
}

function collectHooks(collector: Collector, commonDirectory: string): void {
  let names: string[];
  try {
    names = readdirSync(toFs(joinPath(commonDirectory, 'hooks')), { encoding: 'latin1' });
  } catch {
    return;
  }
  for (const name of names) {
    if (name.endsWith('.sample')) continue;
    const path = joinPath('hooks', name);
    const full = toFs(joinPath(commonDirectory, path));
    if (lstatSync(full).isSymbolicLink()) {
      const content = readlinkSync(full, 'buffer').toString('latin1');
      collector.files.push({ path, mode: 0o777, content, link: true });
    } else collect(collector, commonDirectory, path);
  }
}

const ANY_ID = /\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b/g;

/** Every object id that the state files name: candidates for roots of the bundle. */
export function namedIds(files: readonly StateFile[], format: string): Set<string> {
  const length = format === 'sha1' ? 40 : 64;
  const ids = new Set<string>();
  const add = (id: string | undefined): void => {
    if (id?.length === length && !/^0+$/.test(id)) ids.add(id);
  };
  for (const file of files) {
    if (file.path.startsWith('logs/')) {
      for (const line of file.content.split('\n')) add(line.split(' ')[1]);
    } else if (isOperationFile(file.path) && !NO_ROOTS.has(file.path)) {
      for (const match of file.content.matchAll(ANY_ID)) add(match[0]);
    }
  }
  return ids;
}

/** Ids in a resolve-undo body: path, three modes, an id for each mode that is not 0. */
export function resolveUndoIds(body: Buffer, idBytes: number): string[] {
  const ids: string[] = [];
  let at = 0;
  while (at < body.length) {
    at = body.indexOf(0, at) + 1;
    if (at === 0) return ids;
    let present = 0;
    for (let stage = 0; stage < 3; stage++) {
      const end = body.indexOf(0, at);
      if (end < 0) return ids;
      if (body.toString('latin1', at, end) !== '0') present++;
      at = end + 1;
    }
    for (; present > 0; present--, at += idBytes) ids.push(body.toString('hex', at, at + idBytes));
  }
  return ids;
}

export interface StateInput {
  repository: Repository;
  index: TableIndex | null;
  scan: CheckoutScan;
  content: WorktreeContent;
  trees: { worktree: string; index: string };
  files: StateFile[];
  largeFiles: string[];
  nested: NestedScan;
}

export function configurationWarnings(repository: Repository): WarningEntry[] {
  const { leftOut } = recordConfig(repository.config);
  if (leftOut.length === 0) return [];
  const reason = `settings left out (a program, a place outside or possibly a credential): ${leftOut.map(toReport).join(', ')}`;
  return [{ path: '.git/config', reason }];
}

export function buildGitState(input: StateInput): GitState {
  const { repository, index, scan, content } = input;
  const flagged = index?.flagged ?? [];
  const config = recordConfig(repository.config);
  const worktreeConfig = readConfig(joinPath(repository.gitDirectory, 'config.worktree'));
  const local = repository.refs.filter((ref) => isLocalRef(ref.name));
  return {
    format: 1,
    head: { ref: repository.headRef, id: repository.headId },
    trees: input.trees,
    index: {
      present: index !== null,
      conflicts: flagged
        .filter((entry) => entry.stage > 0)
        .map((entry) => [entry.mode, entry.id, entry.stage, entry.path]),
      intent_to_add: flagged
        .filter((entry) => entry.intentToAdd)
        .map((entry) => [entry.mode, entry.path]),
      skip_worktree: flagged.filter((entry) => entry.skipWorktree).map((entry) => entry.path),
      assume_unchanged: flagged.filter((entry) => entry.assumeUnchanged).map((entry) => entry.path),
      dirty: content.dirty.map((item) => [item.path, item.size]),
      resolve_undo: index?.resolveUndo?.toString('latin1') ?? null,
    },
    refs: local,
    symbolic_refs: repository.symbolicRefs.filter((ref) => isLocalRef(ref.name)),
    other_remotes: repository.refs.filter(
      (ref) => ref.name.startsWith('refs/remotes/') && !ref.name.startsWith('refs/remotes/origin/'),
    ),
    files: input.files,
    config: config.kept,
    config_worktree:
      worktreeConfig.entries.length > 0 ? recordConfig(worktreeConfig.entries).kept : null,
    nested_repositories: input.nested.repositories,
    nested_config: input.nested.configurations,
    large_files: input.largeFiles,
    kept_back: content.keptBack,
    ...recordTimes(repository.work, index?.table ?? null, scan, content),
  };
}

/** Times and modes; files in byte order of their paths, which is the order of the index. */
function recordTimes(
  work: string,
  table: IndexTable | null,
  scan: CheckoutScan,
  content: WorktreeContent,
): Pick<GitState, 'times' | 'modes' | 'directory_times'> {
  const seconds: number[] = [];
  const nanos: number[] = [];
  const modes: [string, number][] = [];
  const done = new Set(content.gone);
  for (let number = 0; number < (table?.count ?? 0); number++) {
    if (scan.plain[number] === 1) {
      // Most files, with a mode of 644 or 755.
      seconds.push(table!.modifiedSeconds(number));
      nanos.push(table!.modifiedNanos(number));
      continue;
    }
    const file = scan.files.get(table!.path(number))!;
    // The stages of a conflict are one file.
    if (done.has(file.path) || !(file.kind === 'file' || file.kind === 'link')) continue;
    done.add(file.path);
    const [whole, rest] = exactTime(work, file);
    seconds.push(whole);
    nanos.push(rest);
    if (!file.stat?.isFile()) continue;
    const mode = file.stat.mode & 0o7777;
    if (mode !== 0o644 && mode !== 0o755) modes.push([file.path, mode]);
  }
  const directoryTimes: [string, number, number][] = [];
  const gitlinks = [...scan.files.values()].flatMap(({ path, stat, gitlink, kind }) =>
    gitlink && kind === 'directory' && stat !== null ? [{ path, stat }] : [],
  );
  for (const { path, stat } of [...scan.directories.values(), ...gitlinks]) {
    directoryTimes.push([path, ...splitTime(stat.mtimeMs)]);
    const mode = stat.mode & 0o7777;
    if (mode !== 0o755) modes.push([path, mode]);
  }
  return { times: { seconds, nanos }, modes, directory_times: directoryTimes };
}
