import { createReadStream } from 'node:fs';
import { ArchiveRefused } from '../archive/archive-refused.ts';
import { unpackStream } from '../archive/part-rules.ts';
import { isObjectId, isRefName } from '../archive/ref-names.ts';
import { toFs } from './byte-path.ts';
import type { RestoreMeta } from './contract.ts';
import { isOperationFile, type GitState, type StateFile } from './git-state.ts';
import { ToolError } from './tool-error.ts';

/** Unpacked; 27,674 tracked files need about 1 MB. */
const STATE_BYTES_MAX = 256 * 1024 * 1024;

/** Reads and checks the part `gitstate`: it is as hostile as any other (R4). */
export async function readGitState(path: string, meta: RestoreMeta): Promise<GitState> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of unpackStream(createReadStream(toFs(path)))) {
      bytes += chunk.length;
      if (bytes > STATE_BYTES_MAX) throw new ToolError('refused', 'gitstate is over its cap');
      chunks.push(Buffer.from(chunk));
    }
  } catch (error) {
    if (error instanceof ArchiveRefused) throw new ToolError(error.code, error.message, error);
    throw error;
  }
  let state: GitState;
  try {
    state = JSON.parse(Buffer.concat(chunks).toString('utf8')) as GitState;
  } catch (error) {
    throw new ToolError('corrupt', 'gitstate is not JSON', error);
  }
  checkState(state, meta);
  return state;
}

function checkState(state: GitState, meta: RestoreMeta): void {
  const demand = (sound: boolean, what: string): void => {
    if (!sound) throw new ToolError('refused', `gitstate: ${what}`);
  };
  demand(state.format === 1, 'unknown format');
  const { head, trees, index } = state;
  demand(head.id === null || isObjectId(head.id), 'bad head');
  demand(head.ref === null || isRefName(head.ref), 'bad head ref');
  demand(head.id === meta.head, 'its head is not the one of meta.json');
  demand(isObjectId(trees.worktree) && isObjectId(trees.index), 'bad tree ids');
  demand(trees.worktree === (meta.worktree_tree ?? trees.worktree), 'another worktree tree');
  demand(trees.index === (meta.index_tree ?? trees.index), 'another index tree');
  const paths = [
    ...index.conflicts.map((entry) => entry[3]),
    ...index.intent_to_add.map((entry) => entry[1]),
    ...index.skip_worktree,
    ...index.assume_unchanged,
    ...index.dirty.map((entry) => entry[0]),
    ...state.large_files,
    ...state.kept_back,
    ...state.modes.map((entry) => entry[0]).filter((path) => path !== ''),
    ...state.directory_times.map((entry) => entry[0]).filter((path) => path !== ''),
    ...state.nested_repositories,
  ];
  for (const path of paths) demand(isWorkPath(path), `a path that may not be: ${path}`);
  for (const [, id, stage] of index.conflicts) {
    demand(isObjectId(id) && [1, 2, 3].includes(stage), 'a bad conflict entry');
  }
  for (const ref of [...state.refs, ...state.other_remotes]) {
    demand(isObjectId(ref.id), `a ref without an object id: ${ref.name}`);
  }
  for (const file of state.files) demand(isStateFile(file), `a file that may not be: ${file.path}`);
  for (const { path } of state.nested_config) demand(isNestedConfig(path), `${path} may not be`);
}

const isInside = (path: unknown): path is string =>
  typeof path === 'string' &&
  path !== '' &&
  !path.includes('\0') &&
  path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');

/** A path of the checkout: relative, no `..`, nothing of the git directory. */
export const isWorkPath = (path: unknown): path is string =>
  isInside(path) && !path.split('/').includes('.git');

const INFO_FILES = ['info/exclude', 'info/attributes', 'info/sparse-checkout'];

function isStateFile(file: StateFile): boolean {
  const { path } = file;
  if (!isInside(path) || typeof file.content !== 'string') return false;
  if (INFO_FILES.includes(path) || isOperationFile(path)) return file.link !== true;
  if (path.startsWith('hooks/')) return path.split('/').length === 2;
  if (path.startsWith('rr-cache/') || path === 'logs/HEAD') return file.link !== true;
  return path.startsWith('logs/refs/') && isRefName(path.slice(5)) && file.link !== true;
}

function isNestedConfig(path: string): boolean {
  if (!isInside(path) || !/(?:^|\/)config(?:\.worktree)?$/.test(path)) return false;
  if (path.startsWith('.git/')) return /^\.git\/(?:modules|worktrees)\//.test(path);
  return path.split('/').includes('.git');
}
