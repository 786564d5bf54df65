import { existsSync, readdirSync, statSync } from 'node:fs';
import { fromText, joinPath, toFs, toReport } from './byte-path.ts';
import { scanCheckout, type CheckoutScan } from './checkout-scan.ts';
import type { SkippedEntry, WarningEntry } from './contract.ts';
import { findConversions, type Conversions } from './conversions.ts';
import { computeFingerprint } from './fingerprint.ts';
import { collectStateFiles, type StateFile } from './git-state.ts';
import { parseIndex, serialiseIndex, type TableIndex } from './index-file.ts';
import type { IndexTable } from './index-table.ts';
import { scanNested, type NestedScan } from './nested-repositories.ts';
import { findGitDirectory, readIfThere, readRepository, type Repository } from './repository.ts';
import { copyIndex, gitOrThrow, makeShadow, type Shadow } from './shadow.ts';
import { findObjects, type KnownObjects } from './roots.ts';
import { listBelow } from './tar-archive.ts';
import { findChanged } from './tracked-files.ts';
import {
  judgeBeside,
  noteSpecial,
  noteUnreadable,
  scanUntracked,
  type UntrackedScan,
} from './untracked-files.ts';

/** One look at the checkout: shared by capture, fingerprint and changes. */
export interface Observation {
  work: string;
  home: string;
  repository: Repository;
  shadow: Shadow;
  index: TableIndex | null;
  tracked: CheckoutScan;
  untracked: UntrackedScan;
  nested: NestedScan;
  conversions: Conversions;
  objects: KnownObjects;
  files: StateFile[];
  conversation: string[];
  fingerprint: string;
  skipped: SkippedEntry[];
  warnings: WarningEntry[];
}

export interface ObserveRequest {
  work: string;
  home: string;
  conversation_directories: string[];
  base_branch?: string;
}

/** Files of one conversation directory; above it the rest is named as skipped. */
const CONVERSATION_FILES_MAX = 100_000;

const NO_CONVERSIONS: Conversions = {
  converted: [],
  largeFiles: [],
  largeFilePaths: new Set(),
};

const NO_OBJECTS: KnownObjects = { types: new Map(), headTree: null, base: null };

/** Null when the work directory is no repository git could use. */
export async function observe(
  request: ObserveRequest,
  scratch: string,
  options: {
    conversions: boolean;
    conversation?: string[];
    /** Called when git is at work on what takes longest: what else there is to do has time now. */
    comparing?: () => void;
  },
): Promise<Observation | null> {
  const work = fromText(request.work);
  const home = fromText(request.home);
  const found = findGitDirectory(work);
  if (found.state !== 'found') return null;
  const repository = readRepository(work, found);
  const shadow = makeShadow(scratch, repository, { home });
  const warnings: WarningEntry[] = [];
  const conversation =
    options.conversation ?? listConversation(home, request.conversation_directories);
  const { index, seconds } = await takeIndex(repository, shadow);
  const file = index ?? parseIndex(serialiseIndex([], repository.format, null), repository.format);
  const { table } = file;
  const changing = findChanged(shadow, file, seconds);
  changing.catch(() => undefined);
  options.comparing?.();
  const files = collectStateFiles(repository, warnings);
  const objects = options.conversions
    ? findObjects(shadow, repository, { index, files, baseBranch: request.base_branch })
    : Promise.resolve(NO_OBJECTS);
  objects.catch(() => undefined);
  const tracked = await scanCheckout(shadow, home, table, changing, (beside) =>
    judgeBeside(shadow, beside, { index: hasHiddenRules(table), ignored: options.conversions }),
  );
  const { beside, listing } = tracked;
  const converting = options.conversions
    ? findConversions(shadow, repository, home, table, tracked)
    : Promise.resolve(NO_CONVERSIONS);
  converting.catch(() => undefined);
  const untracked = await scanUntracked(shadow, tracked, listing);
  for (const path of beside.unreadable) noteUnreadable(path, untracked);
  const special = [...tracked.files.values()].flatMap(({ kind, path }) =>
    kind === 'special' ? [path] : [],
  );
  for (const path of [...beside.special, ...special]) noteSpecial(path, untracked.warnings);
  const nested = await scanNested(repository, shadow, untracked.nested, home, warnings);
  noteOutside(repository, warnings);
  for (const ref of repository.brokenRefs) {
    warnings.push({ path: toReport(ref), reason: 'broken ref (no object id in its file)' });
  }
  const others = [...untracked.files, ...untracked.emptyDirectories, ...nested.paths].sort();
  return {
    work,
    home,
    repository,
    shadow,
    index,
    tracked,
    untracked,
    nested,
    conversions: await converting,
    objects: await objects,
    files,
    conversation,
    fingerprint: computeFingerprint({
      repository,
      index: index?.table ?? null,
      scan: tracked,
      files,
      others,
      work,
      home,
      conversation,
    }),
    skipped: untracked.skipped,
    warnings: [...warnings, ...untracked.warnings],
  };
}

/** Ignore rules that a sparse checkout leaves off the disk are in force: git reads them from the index. */
const hasHiddenRules = (table: IndexTable): boolean =>
  table.flagged.some((number) => {
    const { path, skipWorktree } = table.entry(number);
    return skipWorktree && /(?:^|\/)\.gitignore$/.test(path);
  });

/** Copies the index once; a split or sparse one is first written out in full by git. */
async function takeIndex(
  repository: Repository,
  shadow: Shadow,
): Promise<{ index: TableIndex | null; seconds: number }> {
  const from = joinPath(repository.gitDirectory, 'index');
  if (!existsSync(toFs(from))) return { index: null, seconds: 0 };
  const to = joinPath(shadow.directory, 'index');
  for (const name of readdirSync(toFs(repository.gitDirectory), { encoding: 'latin1' })) {
    if (!name.startsWith('sharedindex.')) continue;
    copyIndex(joinPath(repository.gitDirectory, name), joinPath(shadow.directory, name));
  }
  copyIndex(from, to);
  const read = (): TableIndex => parseIndex(readIfThere(to) ?? Buffer.alloc(0), repository.format);
  let index = read();
  if (index.split || index.sparse) {
    await gitOrThrow(shadow, ['update-index', '--no-split-index', '--force-write-index']);
    index = read();
  }
  return { index, seconds: Math.floor(statSync(toFs(to)).mtimeMs / 1000) };
}

export function listConversation(home: string, directories: readonly string[]): string[] {
  return directories
    .flatMap((directory) => listBelow(home, fromText(directory), CONVERSATION_FILES_MAX))
    .sort();
}

/** Linked work trees outside the checkout: their branches are kept, their files are not. */
function noteOutside(repository: Repository, warnings: WarningEntry[]): void {
  const directory = joinPath(repository.commonDirectory, 'worktrees');
  let names: string[];
  try {
    names = readdirSync(toFs(directory), { encoding: 'latin1' });
  } catch {
    return;
  }
  for (const name of names) {
    const gitdir = readIfThere(joinPath(directory, `${name}/gitdir`))
      ?.toString('latin1')
      .trim();
    const place = gitdir?.replace(/\/\.git$/, '');
    if (place === undefined || place === repository.work) continue;
    if (place.startsWith(`${repository.work}/`)) continue;
    warnings.push({
      path: toReport(place),
      reason: 'a linked work tree outside the checkout is not kept (its branch is)',
    });
  }
}
