import type { WarningEntry } from './contract.ts';
import { idBytesOf, type IndexFile } from './index-file.ts';
import { namedIds, resolveUndoIds, type StateFile } from './git-state.ts';
import { isLocalRef, type Ref, type Repository } from './repository.ts';
import { writeCommit, writeLooseObject, writeShadowRefs, type Shadow } from './shadow.ts';
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

export async function findRoots(
  shadow: Shadow,
  repository: Repository,
  input: {
    trees: SnapshotTrees;
    index: IndexFile | null;
    files: readonly StateFile[];
    baseBranch: string | undefined;
  },
  warnings: WarningEntry[],
): Promise<Roots> {
  const local = repository.refs.filter((ref) => isLocalRef(ref.name));
  const named = namedIds(input.files, shadow.format);
  const undo = input.index?.resolveUndo ?? null;
  const undoIds = undo === null ? [] : resolveUndoIds(undo, idBytesOf(shadow.format));
  const excludedNames = [
    `refs/remotes/origin/${input.baseBranch ?? ''}`,
    'refs/remotes/origin/HEAD',
  ];
  const excludedIds = excludedNames.flatMap((name) => resolveRemote(repository, name) ?? []);
  const wanted = [
    ...local.map((ref) => ref.id),
    ...named,
    ...undoIds,
    ...excludedIds,
    ...(repository.headId === null ? [] : [repository.headId]),
  ];
  const types = await objectTypes(shadow, wanted);
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
  const tree = writeLooseObject(shadow, 'tree', body);
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
  const types = new Map<string, string>();
  if (ids.length === 0) return types;
  const input = `${[...new Set(ids)].join('\n')}\n`;
  const args = ['cat-file', '--buffer', '--batch-check=%(objectname) %(objecttype)'];
  const { stdout } = await shadow.git(args, { input });
  for (const line of stdout.toString('latin1').split('\n')) {
    const [id, type] = line.split(' ');
    if (id !== undefined && type !== undefined && type !== 'missing') types.set(id, type);
  }
  return types;
}

export function publishRoots(shadow: Shadow, roots: Roots): void {
  writeShadowRefs(shadow, roots.refs);
}
