import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { joinPath, splitNul, toFs, toReport } from './byte-path.ts';
import { readConfig, type ConfigEntry } from './config-file.ts';
import { isNeverKept } from './configuration.ts';
import type { WarningEntry } from './contract.ts';
import { parseIndex } from './index-file.ts';
import { namedIds, collectStateFiles } from './git-state.ts';
import { findGitDirectory, readIfThere, readRepository, type Repository } from './repository.ts';
import { copyIndex, makeShadow, type Shadow } from './shadow.ts';
import { writeIndexTrees } from './snapshot-trees.ts';

/**
 * Repositories inside the checkout: untracked ones, submodules, linked work trees. Their files by
 * their own ignore rules and their git directories whole, except for the configuration, which
 * travels without credentials (R7).
 */
export interface NestedScan {
  /** Paths below the work directory, for the archive. */
  paths: string[];
  repositories: string[];
  configurations: { path: string; entries: ConfigEntry[] }[];
  /** Objects of linked work trees live in the outer repository: they are roots of its bundle. */
  rootIds: string[];
  rootTrees: string[];
}

const NESTED_DEPTH_MAX = 8;
/** Left behind by running programs; none means anything elsewhere. */
const TRANSIENT = /(?:\.lock|\.ipc|^gc\.pid|^fsmonitor--daemon.*)$/;

export async function scanNested(
  outer: Repository,
  shadow: Shadow,
  nested: readonly string[],
  home: string,
  warnings: WarningEntry[],
): Promise<NestedScan> {
  const scan: NestedScan = {
    paths: [],
    repositories: [],
    configurations: [],
    rootIds: [],
    rootTrees: [],
  };
  const seen = new Set<string>();
  const queue = nested.map((path) => ({ path, depth: 1 }));
  const taken = new Set<string>();
  for (let at = 0; at < queue.length; at++) {
    const { path, depth } = queue[at]!;
    if (taken.has(path)) continue;
    taken.add(path);
    if (depth > NESTED_DEPTH_MAX) {
      warnings.push({ path: toReport(path), reason: 'repositories nested too deeply' });
      continue;
    }
    const directory = joinPath(shadow.directory, `nested${at}`);
    const deeper = await scanOne(outer, { path, home, directory }, scan, seen, warnings);
    for (const inner of deeper) queue.push({ path: inner, depth: depth + 1 });
  }
  scan.paths = [...new Set(scan.paths)].sort();
  return scan;
}

async function scanOne(
  outer: Repository,
  place: { path: string; home: string; directory: string },
  scan: NestedScan,
  seen: Set<string>,
  warnings: WarningEntry[],
): Promise<string[]> {
  const { path } = place;
  const work = joinPath(outer.work, path);
  const dotGit = joinPath(work, '.git');
  const stat = lstatSync(toFs(dotGit), { throwIfNoEntry: false });
  const found = stat?.isSymbolicLink() ? { state: 'unusable' as const } : findGitDirectory(work);
  if (found.state !== 'found') {
    warnings.push({ path: toReport(path), reason: 'nested repository with an unusable .git' });
    return [];
  }
  const root = realpathSync(toFs(outer.work), 'buffer').toString('latin1');
  if (!found.gitDirectory.startsWith(`${root}/`)) {
    warnings.push({
      path: toReport(path),
      reason: 'nested repository whose git directory is outside the checkout is not kept',
    });
    return [];
  }
  scan.repositories.push(path);
  if (stat?.isFile()) scan.paths.push(joinPath(path, '.git'));
  const inner = readRepository(work, found);
  const shadow = makeShadow(place.directory, inner, { home: place.home });
  const indexPath = joinPath(inner.gitDirectory, 'index');
  const hasIndex = readIfThere(indexPath) !== null;
  if (hasIndex) copyIndex(indexPath, joinPath(shadow.directory, 'index'));
  const { stdout } = await shadow.git(['ls-files', '-z', '-o', '-c', '--exclude-standard']);
  const deeper = sortFiles(outer.work, path, splitNul(stdout), scan);
  collectGitDirectory(found.gitDirectory, found.gitDirectory.slice(root.length + 1), scan, seen);
  if (inner.commonDirectory === outer.commonDirectory) await addRoots(inner, shadow, scan);
  return deeper;
}

/** Existing files go to the archive; directories are repositories of the next level. */
function sortFiles(work: string, path: string, names: string[], scan: NestedScan): string[] {
  const deeper: string[] = [];
  for (const name of new Set(names)) {
    const inside = joinPath(path, name.replace(/\/$/, ''));
    const stat = lstatSync(toFs(joinPath(work, inside)), { throwIfNoEntry: false });
    if (!stat) continue;
    if (!stat.isDirectory()) scan.paths.push(inside);
    else if (lstatSync(toFs(joinPath(work, `${inside}/.git`)), { throwIfNoEntry: false })) {
      deeper.push(inside);
    } else scan.paths.push(inside);
  }
  return deeper;
}

function collectGitDirectory(
  directory: string,
  path: string,
  scan: NestedScan,
  seen: Set<string>,
): void {
  if (seen.has(directory)) return;
  seen.add(directory);
  const children = readdirSync(toFs(directory), { encoding: 'latin1', withFileTypes: true });
  if (children.length === 0) scan.paths.push(path);
  for (const child of children) {
    if (TRANSIENT.test(child.name)) continue;
    const full = joinPath(directory, child.name);
    const inside = joinPath(path, child.name);
    if (child.isDirectory()) collectGitDirectory(full, inside, scan, seen);
    else if (/^config(?:\.worktree)?$/.test(child.name) && child.isFile()) {
      const entries = readConfig(full).entries.filter((entry) => !isNeverKept(entry));
      scan.configurations.push({ path: inside, entries });
    } else if (child.isFile() || child.isSymbolicLink()) scan.paths.push(inside);
  }
}

async function addRoots(inner: Repository, shadow: Shadow, scan: NestedScan): Promise<void> {
  if (inner.headId !== null) scan.rootIds.push(inner.headId);
  scan.rootIds.push(...namedIds(collectStateFiles(inner, []), inner.format));
  const bytes = readIfThere(joinPath(shadow.directory, 'index'));
  if (bytes === null) return;
  const index = parseIndex(bytes, inner.format);
  if (index.split || index.sparse) return;
  const trees = await writeIndexTrees(shadow, index);
  scan.rootTrees.push(trees.index, ...trees.stages.map((stage) => stage.tree));
}
