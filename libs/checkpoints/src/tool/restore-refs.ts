import { lstatSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isRefName } from '../archive/ref-names.ts';
import { joinPath, parentOf, toFs, toReport } from './byte-path.ts';
import type { GitState } from './git-state.ts';
import type { Ref } from './repository.ts';
import type { RestoreContext } from './restore.ts';
import { objectTypes } from './roots.ts';

/** Refs of one work tree only: git never packs them. */
const PER_WORKTREE = /^refs\/(?:bisect|worktree|rewritten)\//;

const isRecorded = (name: string): boolean =>
  isRefName(name) && !name.startsWith('refs/remotes/') && !name.startsWith('refs/hangar/');

/**
 * Makes the local refs exactly the recorded ones (R4), in one file: no transaction can stumble over
 * `a` against `a/b`, and no hook runs. Remote-tracking refs of origin are the fresh clone's.
 */
export async function restoreRefs(
  context: RestoreContext,
  state: GitState,
): Promise<{ proof: boolean; dropped: number; names: Set<string> }> {
  const { shadow, repository, losses } = context;
  const { gitDirectory, commonDirectory } = repository;
  const others = state.other_remotes.filter(
    (ref) => /^refs\/remotes\/(?!origin\/)/.test(ref.name) && isRefName(ref.name),
  );
  const types = await objectTypes(
    shadow,
    [...state.refs, ...others].map((ref) => ref.id),
  );
  const wanted: Ref[] = [];
  let dropped = 0;
  for (const ref of withoutCollisions(state.refs)) {
    if (isRecorded(ref.name) && types.has(ref.id)) wanted.push(ref);
    else {
      dropped++;
      losses.push({ path: toReport(ref.name), reason: `ref dropped: ${ref.id} is not to be had` });
    }
  }
  const kept = repository.refs.filter(
    (ref) => ref.name.startsWith('refs/remotes/') && !others.some((one) => one.name === ref.name),
  );
  const packed = [
    ...kept,
    ...others.filter((ref) => types.has(ref.id)),
    ...wanted.filter((ref) => !PER_WORKTREE.test(ref.name)),
  ];
  const text = packed.map((ref) => `${ref.id} ${ref.name}\n`).join('');
  const place = joinPath(commonDirectory, 'packed-refs');
  writeFileSync(toFs(`${place}.hangar`), text, 'latin1');
  renameSync(toFs(`${place}.hangar`), toFs(place));
  removeLooseRefs(commonDirectory);
  for (const ref of wanted.filter((one) => PER_WORKTREE.test(one.name))) {
    writeRefFile(gitDirectory, ref.name, `${ref.id}\n`);
  }
  for (const { name, target } of state.symbolic_refs) {
    const taken = wanted.some((ref) => ref.name === name);
    if (!isRecorded(name) || !isRefName(target) || taken) continue;
    writeRefFile(gitDirectory, name, `ref: ${target}\n`);
  }
  restoreHead(gitDirectory, state);
  const names = new Set([...wanted, ...state.symbolic_refs].map((ref) => ref.name));
  return { proof: await proveRefs(context, state, wanted), dropped, names };
}

/** Of `a` and `a/b` only one can exist; a list that has both was not made by a repository. */
function withoutCollisions(refs: readonly Ref[]): Ref[] {
  const names = new Set(refs.map((ref) => ref.name));
  return refs.filter((ref) => {
    for (let parent = parentOf(ref.name); parent !== ''; parent = parentOf(parent)) {
      if (names.has(parent)) return false;
    }
    return true;
  });
}

/** Only remote-tracking refs stay loose; directories stay where git expects them. */
function removeLooseRefs(commonDirectory: string): void {
  const root = joinPath(commonDirectory, 'refs');
  mkdirSync(toFs(root), { recursive: true });
  for (const name of readdirSync(toFs(root), { encoding: 'latin1' })) {
    if (name !== 'remotes') rmSync(toFs(joinPath(root, name)), { recursive: true, force: true });
  }
  mkdirSync(toFs(joinPath(root, 'heads')), { recursive: true });
  mkdirSync(toFs(joinPath(root, 'tags')), { recursive: true });
}

function writeRefFile(gitDirectory: string, name: string, text: string): void {
  const full = joinPath(gitDirectory, name);
  mkdirSync(toFs(joinPath(gitDirectory, parentOf(name))), { recursive: true });
  if (lstatSync(toFs(full), { throwIfNoEntry: false })?.isDirectory()) return;
  writeFileSync(toFs(full), text, 'latin1');
}

function restoreHead(gitDirectory: string, state: GitState): void {
  const { ref, id } = state.head;
  const text = ref === null ? `${id ?? ''}\n` : `ref: ${ref}\n`;
  const place = joinPath(gitDirectory, 'HEAD');
  writeFileSync(toFs(`${place}.hangar`), text, 'latin1');
  renameSync(toFs(`${place}.hangar`), toFs(place));
}

/** git itself reads the refs back. */
async function proveRefs(
  context: RestoreContext,
  state: GitState,
  wanted: readonly Ref[],
): Promise<boolean> {
  const { shadow, repository, losses } = context;
  const { stdout } = await shadow.git([
    `--git-dir=${Buffer.from(repository.gitDirectory, 'latin1').toString('utf8')}`,
    '-c',
    'core.hooksPath=/dev/null',
    '-c',
    'core.fsmonitor=false',
    'for-each-ref',
    '--format=%(objectname) %(refname) %(symref)',
  ]);
  const lines = stdout
    .toString('latin1')
    .split('\n')
    .filter((line) => line !== '');
  const found = new Set<string>();
  for (const line of lines) {
    const [id, name, symbolic] = line.split(' ');
    if (name === undefined || name.startsWith('refs/remotes/')) continue;
    if (symbolic === '' || symbolic === undefined) found.add(`${id} ${name}`);
  }
  const missing = wanted.filter((ref) => !found.has(`${ref.id} ${ref.name}`));
  for (const ref of missing) losses.push({ path: toReport(ref.name), reason: 'ref not restored' });
  const complete = missing.length === 0 && found.size === wanted.length;
  return complete && wanted.length === state.refs.length;
}
