import { lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { serialiseConfig } from './config-file.ts';
import { isNeverKept } from './configuration.ts';
import { joinPath, parentOf, toFs } from './byte-path.ts';
import { extractPart, hasPart, listEntries } from './extract.ts';
import type { GitState } from './git-state.ts';
import type { RestoreContext } from './restore.ts';
import { ToolError } from './tool-error.ts';

/** Repositories inside the checkout come back whole; what a clone put in their place goes first. */
export async function restoreNested(context: RestoreContext, state: GitState): Promise<string[]> {
  const { parts, work } = context;
  if (!hasPart(parts, 'nested')) return [];
  const entries = await listEntries(parts, 'nested');
  const replaced = new Set(state.nested_repositories);
  for (const { path } of entries) {
    const owned = /^\.git\/(?:modules|worktrees)\/[^/]+/.exec(path)?.[0];
    if (owned !== undefined) replaced.add(owned);
  }
  for (const path of replaced) {
    demandRealParents(work, path);
    rmSync(toFs(joinPath(work, path)), { recursive: true, force: true });
    // A gitlink without its directory would count as deleted.
    if (state.nested_repositories.includes(path)) {
      mkdirSync(toFs(joinPath(work, path)), { recursive: true });
    }
  }
  await extractPart(parts, 'nested', work, {});
  for (const { path, entries: recorded } of state.nested_config) {
    demandRealParents(work, path);
    const full = toFs(joinPath(work, path));
    mkdirSync(toFs(joinPath(work, parentOf(path))), { recursive: true });
    rmSync(full, { force: true });
    const safe = recorded.filter((entry) => !isNeverKept(entry));
    writeFileSync(full, serialiseConfig(safe), { flag: 'wx' });
  }
  return entries.map((entry) => entry.path);
}

/** Nothing may be written or removed through a link. */
export function demandRealParents(root: string, path: string): void {
  for (let parent = parentOf(path); parent !== ''; parent = parentOf(parent)) {
    const stat = lstatSync(toFs(joinPath(root, parent)), { throwIfNoEntry: false });
    if (stat && !stat.isDirectory()) {
      throw new ToolError('refused', `the path ${path} goes through something that is a link`);
    }
  }
}
