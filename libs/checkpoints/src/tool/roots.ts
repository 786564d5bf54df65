import type { WarningEntry } from './contract.ts';
import type { IndexFile } from './index-file.ts';
import { idBytesOf } from './index-table.ts';
import { namedIds, resolveUndoIds, type StateFile } from './git-state.ts';
import { isLocalRef, type Ref, type Repository } from './repository.ts';
import { writeCommit, writeShadowRefs, type Shadow } from './shadow.ts';
import type { SnapshotTrees } from './snapshot-trees.ts';

/** The refs of the bundle, all below `refs/hangar/` (R1, R4, R5). */
export interface Roots {
  refs: Ref[];
  /** Commits the remote is expected to still have. */
  excluded: string[];
  /** Local refs whose object is not there. */
  missing: Ref[];
  stashes: number;
}

/** What the repository has of the objects that a checkpoint may name. */
export interface KnownObjects {
  types: Map<string, string>;
  headTree: string | null;
  /** The commit of the base branch that this work builds on. */
  base: string | null;
}

interface Naming {
  index: IndexFile | null;
  files: readonly StateFile[];
  baseBranch: string | undefined;
}

export async function findObjects(
  shadow: Shadow,
  repository: Repository,
  naming: Naming,
): Promise<KnownObjects> {
  const { local, named, undoIds, excludedIds } = namedObjects(shadow, repository, naming);
  const head = repository.headId;
  const ids = [...local.map((ref) => ref.id), ...named, ...undoIds, ...excludedIds];
  const [found, base] = await Promise.all([
    lookUp(shadow, head === null ? ids : [...ids, head, `${head}^{tree}`]),
    findBase(shadow, repository, naming.baseBranch),
  ]);
  const types = new Map([...found].map(([name, object]) => [name, object.type]));
  const headTree = head === null ? null : (found.get(`${head}^{tree}`)?.id ?? null);
  return { types, headTree, base };
}

async function findBase(
  shadow: Shadow,
  repository: Repository,
  baseBranch: string | undefined,
): Promise<string | null> {
  const remote =
    resolveRemote(repository, `refs/remotes/origin/${baseBranch ?? ''}`) ??
    resolveRemote(repository, 'refs/remotes/origin/HEAD');
  if (remote === null || repository.headId === null) return remote;
  if (remote === repository.headId) return remote;
  const found = await shadow.git(['merge-base', repository.headId, remote]);
  const id = found.stdout.toString('latin1').trim();
  return found.status === 0 && id !== '' ? id : null;
}

function namedObjects(
  shadow: Shadow,
  repository: Repository,
  { index, files, baseBranch }: Naming,
): { local: Ref[]; named: Set<string>; undoIds: string[]; excludedIds: string[] } {
  const undo = index?.resolveUndo ?? null;
  const excludedNames = [`refs/remotes/origin/${baseBranch ?? ''}`, 'refs/remotes/origin/HEAD'];
  return {
    local: repository.refs.filter((ref) => isLocalRef(ref.name)),
    named: namedIds(files, shadow.format),
    undoIds: undo === null ? [] : resolveUndoIds(undo, idBytesOf(shadow.format)),
    excludedIds: excludedNames.flatMap((name) => resolveRemote(repository, name) ?? []),
  };
}

export function findRoots(
  shadow: Shadow,
  repository: Repository,
  input: Naming & { trees: SnapshotTrees; types: Map<string, string> },
  warnings: WarningEntry[],
): Roots {
  const { local, named, undoIds, excludedIds } = namedObjects(shadow, repository, input);
  const { types } = input;
  const head = repository.headId;
  const parent = head !== null && types.get(head) === 'commit' ? head : null;
  const refs: Ref[] = [];
  const add = (name: string, id: string): void => {
    refs.push({ name: `refs/hangar/${name}`, id });
  };
  if (parent !== null) add('checkpoint', parent);
  add('index0', writeCommit(shadow, input.trees.index, parent));
  for (const { stage, tree } of input.trees.stages) {
    add(`index${stage}`, writeCommit(shadow, tree, parent));
  }
  add('worktree', writeCommit(shadow, input.trees.worktree, parent));
  const missing = local.filter((ref) => !types.has(ref.id));
  for (const ref of missing) {
    warnings.push({ path: ref.name, reason: `its object ${ref.id} is not in the repository` });
  }
  const stashLog = input.files.find((file) => file.path === 'logs/refs/stash');
  const stashIds = stashLog ? [...namedIds([stashLog], shadow.format)] : [];
  addExtra(shadow, refs, { local, named: [...named, ...undoIds], stashIds, types });
  return {
    refs,
    excluded: [...new Set(excludedIds)].filter((id) => types.get(id) === 'commit'),
    missing,
    stashes: stashIds.filter((id) => types.has(id)).length,
  };
}

function addExtra(
  shadow: Shadow,
  refs: Ref[],
  found: { local: Ref[]; named: string[]; stashIds: string[]; types: Map<string, string> },
): void {
  const taken = new Set<string>();
  const add = (name: string, id: string): void => {
    if (taken.has(id) || !found.types.has(id)) return;
    taken.add(id);
    refs.push({ name: `refs/hangar/${name}`, id });
  };
  found.local.forEach((ref, number) => add(`r/${number}`, ref.id));
  found.stashIds.forEach((id, number) => add(`s/${number}`, id));
  const loose: { mode: string; id: string }[] = [];
  for (const id of new Set(found.named)) {
    const type = found.types.get(id);
    if (type === 'commit' || type === 'tag') add(`x/${id}`, id);
    else if (type === 'tree') loose.push({ mode: '40000', id });
    else if (type === 'blob') loose.push({ mode: '100644', id });
  }
  if (loose.length === 0) return;
  // Trees and blobs hang in one synthetic tree, each under its own id.
  loose.sort((a, b) => (a.id < b.id ? -1 : 1));
  const body = Buffer.concat(
    loose.flatMap(({ mode, id }) => [Buffer.from(`${mode} ${id}\0`), Buffer.from(id, 'hex')]),
  );
  const tree = shadow.objects.add('tree', body);
  refs.push({ name: 'refs/hangar/extra', id: writeCommit(shadow, tree, null) });
}

export function resolveRemote(repository: Repository, name: string): string | null {
  const target = repository.symbolicRefs.find((ref) => ref.name === name)?.target ?? name;
  return repository.refs.find((ref) => ref.name === target)?.id ?? null;
}

/** Type of each object that is there. */
export async function objectTypes(
  shadow: Shadow,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const found = await lookUp(shadow, ids);
  return new Map([...found].map(([id, { type }]) => [id, type]));
}

/** By name, those that are there. A name is an id, or what git can follow from one. */
async function lookUp(
  shadow: Shadow,
  wanted: readonly string[],
): Promise<Map<string, { id: string; type: string }>> {
  const found = new Map<string, { id: string; type: string }>();
  const names = [...new Set(wanted)];
  if (names.length === 0) return found;
  const args = ['cat-file', '--buffer', '--batch-check=%(objectname) %(objecttype)'];
  const { stdout } = await shadow.git(args, { input: `${names.join('\n')}\n` });
  // One line for each, in order; without a second word that could be a type when it is missing.
  for (const [number, line] of stdout.toString('latin1').split('\n').entries()) {
    const [id, type] = line.split(' ');
    const name = names[number];
    if (name === undefined || id === undefined || type === undefined || type === 'missing')
      continue;
    found.set(name, { id, type });
  }
  return found;
}

export function publishRoots(shadow: Shadow, roots: Roots): void {
  writeShadowRefs(shadow, roots.refs);
}
