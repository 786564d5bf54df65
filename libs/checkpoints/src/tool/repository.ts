import { lstatSync, readFileSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { isRefName } from '../archive/ref-names.ts';
import { compareBytes, joinPath, toFs } from './byte-path.ts';
import { configValue, readConfig, type ConfigEntry } from './config-file.ts';
import type { ObjectFormat } from './index-file.ts';
import { ToolError } from './tool-error.ts';

/**
 * What the checkout's git directory says, read as files. git itself never runs in the checkout: its
 * configuration may name programs (SPEC R4, "runs no code of the checkout").
 */

export interface Ref {
  name: string;
  id: string;
}

export interface SymbolicRef {
  name: string;
  target: string;
}

export interface Repository {
  work: string;
  gitDirectory: string;
  commonDirectory: string;
  format: ObjectFormat;
  config: ConfigEntry[];
  /** The text of HEAD without its line end. */
  headText: string;
  headRef: string | null;
  headId: string | null;
  refs: Ref[];
  symbolicRefs: SymbolicRef[];
  /** Refs whose file holds no object id. */
  brokenRefs: string[];
}

const ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const SMALL_FILE_BYTES_MAX = 64 * 1024 * 1024;
/** Refs nested deeper are not read; git's own file system limit is far lower. */
const REF_DEPTH_MAX = 64;

export function readIfThere(path: string): Buffer | null {
  try {
    if (statSync(toFs(path)).size > SMALL_FILE_BYTES_MAX) return null;
    return readFileSync(toFs(path));
  } catch {
    return null;
  }
}

export const readText = (path: string): string | null =>
  readIfThere(path)?.toString('latin1') ?? null;

const realDirectory = (path: string): string | null => {
  try {
    const real = realpathSync(toFs(path), 'buffer').toString('latin1');
    return statSync(toFs(real)).isDirectory() ? real : null;
  } catch {
    return null;
  }
};

export type FoundRepository =
  | { state: 'found'; gitDirectory: string; commonDirectory: string }
  | { state: 'none' }
  | { state: 'unusable' };

/** Follows `.git` (directory, link or `gitdir:` file) and `commondir`, without git. */
export function findGitDirectory(work: string): FoundRepository {
  const entry = joinPath(work, '.git');
  let isFile: boolean;
  try {
    isFile = statSync(toFs(entry)).isFile();
  } catch {
    try {
      lstatSync(toFs(entry));
      return { state: 'unusable' };
    } catch {
      return { state: 'none' };
    }
  }
  let target = entry;
  if (isFile) {
    const match = /^gitdir: ([^\n]*)/.exec(readText(entry) ?? '');
    if (!match) return { state: 'unusable' };
    target = match[1]!.startsWith('/') ? match[1]! : joinPath(work, match[1]!);
  }
  const gitDirectory = realDirectory(target);
  if (gitDirectory === null || readText(joinPath(gitDirectory, 'HEAD')) === null) {
    return { state: 'unusable' };
  }
  const common = readText(joinPath(gitDirectory, 'commondir'))?.trimEnd();
  if (common === undefined) return { state: 'found', gitDirectory, commonDirectory: gitDirectory };
  const commonDirectory = realDirectory(
    common.startsWith('/') ? common : joinPath(gitDirectory, common),
  );
  if (commonDirectory === null) return { state: 'unusable' };
  return { state: 'found', gitDirectory, commonDirectory };
}

/** Reads everything but the index and the objects. */
export function readRepository(
  work: string,
  found: { gitDirectory: string; commonDirectory: string },
): Repository {
  const { gitDirectory, commonDirectory } = found;
  const { entries: config } = readConfig(joinPath(commonDirectory, 'config'));
  if (configValue(config, 'extensions.refstorage') === 'reftable') {
    throw new ToolError('unsupported', 'repositories with reftable refs are not kept yet');
  }
  const format: ObjectFormat =
    configValue(config, 'extensions.objectformat') === 'sha256' ? 'sha256' : 'sha1';
  const refs = readRefs(gitDirectory, commonDirectory);
  const headText = (readText(joinPath(gitDirectory, 'HEAD')) ?? '').replace(/\n[^]*$/, '');
  const headRef = /^ref:\s*(.*?)\s*$/.exec(headText)?.[1] ?? null;
  const headId = headRef === null ? (ID.test(headText) ? headText : null) : refs.resolve(headRef);
  return {
    work,
    gitDirectory,
    commonDirectory,
    format,
    config,
    headText,
    headRef,
    headId,
    refs: refs.list,
    symbolicRefs: refs.symbolic,
    brokenRefs: refs.broken,
  };
}

interface RefTable {
  list: Ref[];
  symbolic: SymbolicRef[];
  broken: string[];
  resolve: (name: string) => string | null;
}

function readRefs(gitDirectory: string, commonDirectory: string): RefTable {
  const ids = new Map<string, string>();
  const symbolic = new Map<string, string>();
  const broken: string[] = [];
  for (const line of (readText(joinPath(commonDirectory, 'packed-refs')) ?? '').split('\n')) {
    const space = line.indexOf(' ');
    if (line[0] === '#' || line[0] === '^' || space < 40) continue;
    ids.set(line.slice(space + 1), line.slice(0, space));
  }
  const take = (name: string, text: string): void => {
    const target = /^ref:\s*(.*?)\s*$/.exec(text.split('\n')[0] ?? '')?.[1];
    const id = text.split(/\s/)[0] ?? '';
    if (!isRefName(name)) broken.push(name);
    else if (target !== undefined) symbolic.set(name, target);
    else if (ID.test(id)) ids.set(name, id);
    else broken.push(name);
    if (target !== undefined) ids.delete(name);
  };
  walkRefs(commonDirectory, 'refs', 0, take);
  if (gitDirectory !== commonDirectory) walkRefs(gitDirectory, 'refs', 0, take);
  const resolve = (name: string): string | null => {
    let current = name;
    for (let step = 0; step < 5; step++) {
      const next = symbolic.get(current);
      if (next === undefined) return ids.get(current) ?? null;
      current = next;
    }
    return null;
  };
  const list = [...ids].map(([name, id]) => ({ name, id }));
  list.sort((a, b) => compareBytes(a.name, b.name));
  return {
    list,
    symbolic: [...symbolic].map(([name, target]) => ({ name, target })),
    broken,
    resolve,
  };
}

function walkRefs(
  root: string,
  name: string,
  depth: number,
  take: (name: string, text: string) => void,
): void {
  if (depth > REF_DEPTH_MAX) return;
  let children;
  try {
    children = readdirSync(toFs(joinPath(root, name)), { encoding: 'buffer', withFileTypes: true });
  } catch {
    return;
  }
  for (const child of children) {
    const path = joinPath(name, child.name.toString('latin1'));
    if (child.isDirectory()) walkRefs(root, path, depth + 1, take);
    else if (!path.endsWith('.lock')) take(path, readText(joinPath(root, path)) ?? '');
  }
}

/** Refs that a fresh clone brings by itself, or that are this tool's own. */
export const isLocalRef = (name: string): boolean =>
  !name.startsWith('refs/remotes/') && !name.startsWith('refs/hangar/');
