import { appendFileSync, copyFileSync, createReadStream, existsSync, readFileSync } from 'node:fs';
import { joinPath, toFs, toText } from './byte-path.ts';
import { packOffset, prerequisitesOf } from './bundle.ts';
import { hasPart } from './extract.ts';
import type { GitState } from './git-state.ts';
import type { RestoreContext } from './restore.ts';
import { objectTypes } from './roots.ts';
import { runProcess } from './run-process.ts';
import { cleanEnvironment, writeShadowRefs } from './shadow.ts';
import { ToolError } from './tool-error.ts';
import { listTree, listTreeLike, pathsUnlike, type TreeList } from './tree-list.ts';

/**
 * Checked while objects are taken in. Old histories have harmless flaws that must not make a session
 * unrestorable; what can write outside the tree stays an error.
 */
const HARMLESS = [
  'zeroPaddedFilemode',
  'missingSpaceBeforeDate',
  'missingSpaceBeforeEmail',
  'missingEmail',
  'missingNameBeforeEmail',
  'badEmail',
  'badName',
  'badDate',
  'badDateOverflow',
  'badTimezone',
  'zeroPaddedDate',
  'multipleAuthors',
  'nullSha1',
  'badFilemode',
  'badTagName',
  'missingTaggerEntry',
  'nulInCommit',
  'emptyName',
  'fullPathname',
  'gitmodulesUrl',
  'gitmodulesPath',
  'gitmodulesName',
  'gitmodulesUpdate',
  'gitmodulesParse',
  'gitmodulesBlob',
  'gitmodulesMissing',
  'gitmodulesLarge',
  'gitmodulesSymlink',
  'gitattributesSymlink',
  'gitattributesLarge',
  'gitattributesLineLength',
  'gitattributesBlob',
  'gitattributesMissing',
  'gitignoreSymlink',
  'mailmapSymlink',
  'extraHeaderEntry',
  'hasDot',
];

/** Brings every object of the checkpoint into the fresh repository (R8). */
export async function fetchObjects(
  context: RestoreContext,
  state: GitState,
  listing: ReturnType<typeof listBase>,
): Promise<{ cutHistory: boolean; indexTree: TreeList }> {
  const { parts, shadow, repository, losses } = context;
  const bundle = joinPath(parts, 'repo.bundle');
  if (!hasPart(parts, 'repo.bundle')) throw new ToolError('corrupt', 'repo.bundle is missing');
  const prerequisites = prerequisitesOf(bundle);
  const ids = repository.refs.map((ref) => ref.id);
  const [cut, known] = await Promise.all([
    ensurePrerequisites(context, prerequisites),
    objectTypes(shadow, ids),
  ]);
  const bases = prerequisites.map((id, number) => ({ name: `refs/hangar-base/${number}`, id }));
  writeShadowRefs(shadow, [...repository.refs.filter((ref) => known.has(ref.id)), ...bases]);
  if (cut === null) await fetchBundle(context, bundle);
  else await unpackCutBundle(context, bundle);
  const indexTree = await demandObjects(context, state, await listing);
  if (cut !== null) {
    losses.push({
      reason: `the base commit ${cut} is gone from the remote: history before it is cut (shallow)`,
    });
  }
  return { cutHistory: cut !== null, indexTree };
}

async function fetchBundle({ shadow }: RestoreContext, bundle: string): Promise<void> {
  // Only newer versions of git check bundles as well; refuseHostileTree does not rely on it.
  const checks = HARMLESS.map((name) => `fetch.fsck.${name}=ignore`);
  const settings = ['fetch.fsckObjects=true', 'fetch.unpackLimit=1', ...checks];
  const fetch = ['fetch', '-q', '--no-tags', '--no-write-fetch-head', '--force'];
  const fetched = await shadow.git([
    ...settings.flatMap((setting) => ['-c', setting]),
    ...fetch,
    '--no-auto-maintenance',
    toText(bundle),
    '+refs/hangar/*:refs/hangar/*',
  ]);
  if (fetched.status !== 0) {
    const line = fetched.message.split('\n').find((text) => /error|fatal/.test(text)) ?? '';
    if (line.includes('prerequisite')) throw new ToolError('base_gone', `base is gone: ${line}`);
    const hostile = /hasDotgit|hasDotdot|forbidden|fsck/i.test(fetched.message);
    throw new ToolError(hostile ? 'refused' : 'corrupt', `repo.bundle is not usable: ${line}`);
  }
}

/**
 * With a cut base, commits that fork from below it have parents nobody has any more. They become
 * the ends of the shallow history instead of making the whole checkpoint unusable.
 */
async function unpackCutBundle(context: RestoreContext, bundle: string): Promise<void> {
  const { shadow, repository } = context;
  const packed = await shadow.git(['index-pack', '--stdin', '--fix-thin'], {
    input: createReadStream(toFs(bundle), { start: packOffset(bundle) }),
  });
  const name = /^(?:pack|keep)\t([0-9a-f]+)/.exec(packed.stdout.toString('latin1'))?.[1];
  if (packed.status !== 0 || name === undefined) {
    throw new ToolError('corrupt', `repo.bundle is not usable: ${packed.message.split('\n')[0]}`);
  }
  const index = joinPath(repository.commonDirectory, `objects/pack/pack-${name}.idx`);
  const listed = await shadow.git(['show-index'], { input: createReadStream(toFs(index)) });
  const ids = listed.stdout
    .toString('latin1')
    .split('\n')
    .flatMap((line) => line.split(' ')[1] ?? []);
  const types = await objectTypes(shadow, ids);
  const commits = ids.filter((id) => types.get(id) === 'commit');
  const parents = await parentsOf(context, commits);
  const known = await objectTypes(shadow, [...parents.values()].flat());
  const ends = commits.filter((id) => parents.get(id)?.some((parent) => !known.has(parent)));
  appendShallow(context, ends);
}

async function parentsOf(
  context: RestoreContext,
  commits: readonly string[],
): Promise<Map<string, string[]>> {
  const parents = new Map<string, string[]>();
  if (commits.length === 0) return parents;
  const format = '--format=%H %P';
  const { stdout } = await context.shadow.git(['log', '--no-walk=unsorted', format, '--stdin'], {
    input: `${commits.join('\n')}\n`,
    extra: { GIT_SHALLOW_FILE: '' },
  });
  for (const line of stdout.toString('latin1').split('\n')) {
    const [id, ...ids] = line.split(' ');
    if (id !== undefined && id !== '')
      parents.set(
        id,
        ids.filter((one) => one !== ''),
      );
  }
  return parents;
}

/** Order: it is there; by id from the remote; the session's base.pack as a shallow base. */
async function ensurePrerequisites(
  context: RestoreContext,
  prerequisites: readonly string[],
): Promise<string | null> {
  let missing = await missingTrees(context, prerequisites);
  if (missing.length === 0) return null;
  if (context.request.remote) {
    await fetchById(context, missing);
    missing = await missingTrees(context, prerequisites);
    if (missing.length === 0) return null;
  }
  if (!hasPart(context.parts, 'base.pack')) {
    throw new ToolError('base_gone', `the base commit ${missing[0]} is on no remote any more`);
  }
  const packed = await context.shadow.git(['index-pack', '--stdin', '--fix-thin'], {
    input: createReadStream(toFs(joinPath(context.parts, 'base.pack'))),
  });
  if (packed.status !== 0) {
    throw new ToolError('corrupt', `base.pack: ${packed.message.split('\n')[0]}`);
  }
  const still = await missingTrees(context, missing);
  if (still.length > 0) {
    throw new ToolError('base_gone', `the base commit ${still[0]} is on no remote any more`);
  }
  appendShallow(context, missing);
  return missing[0] ?? null;
}

async function missingTrees(context: RestoreContext, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const { stdout } = await context.shadow.git(['cat-file', '--batch-check=%(objecttype)'], {
    input: `${ids.map((id) => `${id}^{tree}`).join('\n')}\n`,
  });
  const lines = stdout.toString('latin1').split('\n');
  return ids.filter((_, number) => lines[number] !== 'tree');
}

/** Runs in the clone itself: only there are its remote and the user's credential helper known. */
async function fetchById(context: RestoreContext, ids: readonly string[]): Promise<void> {
  const { GIT_CONFIG_GLOBAL, GIT_CONFIG_NOSYSTEM, ...environment } = cleanEnvironment();
  void GIT_CONFIG_GLOBAL;
  void GIT_CONFIG_NOSYSTEM;
  const quiet = ['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'gc.auto=0'];
  const fetch = ['fetch', '-q', '--no-tags', '--no-write-fetch-head', '--depth=1'];
  const settings = [...quiet, 'maintenance.auto=false', 'fetch.recurseSubmodules=false'];
  await runProcess(
    'git',
    [...settings.flatMap((setting) => ['-c', setting]), ...fetch, 'origin', ...ids],
    { env: { ...environment, HOME: toText(context.home) }, cwd: toText(context.work) },
  );
  const real = joinPath(context.repository.commonDirectory, 'shallow');
  if (existsSync(toFs(real))) {
    copyFileSync(toFs(real), toFs(joinPath(context.shadow.directory, 'shallow')));
  }
}

function appendShallow(context: RestoreContext, ids: readonly string[]): void {
  const real = joinPath(context.repository.commonDirectory, 'shallow');
  const present = existsSync(toFs(real)) ? readFileSync(toFs(real), 'latin1').split('\n') : [];
  const lines = ids.filter((id) => !present.includes(id)).map((id) => `${id}\n`);
  for (const path of [real, joinPath(context.shadow.directory, 'shallow')]) {
    appendFileSync(toFs(path), lines.join(''));
  }
}

interface BaseTree extends TreeList {
  directories: string[];
}

/** The tree that most of a checkpoint is; null where it is not to be had, or there is none. */
export async function listBase({ shadow, request }: RestoreContext): Promise<BaseTree | null> {
  const tree = request.meta.prerequisites?.[0];
  if (tree === undefined) return null;
  const directories: string[] = [];
  const listed = listTree(shadow, tree, (path) => directories.push(path));
  return listed.then(
    (files) => ({ tree, files, directories }),
    () => null,
  );
}

/** The trees the next steps rest on, with everything below them. */
async function demandObjects(
  context: RestoreContext,
  state: GitState,
  base: BaseTree | null,
): Promise<TreeList> {
  const { shadow } = context;
  const tree = state.trees.index;
  const head = state.head.id;
  const directories = base?.directories ?? [];
  const onDirectory = (path: string): void => void directories.push(path);
  const listing = base
    ? listTreeLike(shadow, base, tree, onDirectory)
    : listTree(shadow, tree, onDirectory);
  const changed = head === null ? [] : pathsUnlike(shadow, tree, head);
  const looking = Promise.all([listing, changed]);
  looking.catch(() => undefined);
  const wanted = [state.trees.worktree, tree, ...(head === null ? [] : [head])];
  const types = await objectTypes(shadow, wanted);
  for (const id of wanted) {
    if (!types.has(id)) throw new ToolError('corrupt', `the bundle lacks the object ${id}`);
  }
  const [files, inHead] = await looking.catch(notWhole);
  refuseHostile([...directories, ...files.map((file) => file.path), ...inHead]);
  return { tree, files };
}

const notWhole = (error: unknown): never => {
  throw new ToolError('corrupt', `a tree is not whole: ${(error as Error).message}`, error);
};

const HOSTILE = /(?:^|\/)(?:\.git|git~1|\.\.?)(?:\/|$)/i;

/** An attack tree is refused before anything is written; git itself checks the one it writes. */
function refuseHostile(paths: readonly string[]): void {
  const bad = paths.find((path) => HOSTILE.test(path));
  if (bad !== undefined) throw new ToolError('refused', `a tree holds a forbidden path: ${bad}`);
}
