import { prerequisitesOf, writeBasePack, writeBundle, writeSmallBundle } from './bundle.ts';
import { collectChanges, makePatch } from './changes.ts';
import type { CaptureRequest, KeptCounts, SkippedEntry, WarningEntry } from './contract.ts';
import { noteFileMetadata } from './file-metadata.ts';
import { dropMissing, fitBundle, remakeTrees } from './fit-bundle.ts';
import { buildGitState, configurationWarnings, type GitState } from './git-state.ts';
import { findLargeObjects } from './large-files.ts';
import type { Observation } from './observe.ts';
import type { PartWriter } from './part-writer.ts';
import { findRoots, type Roots } from './roots.ts';
import { writeCommit, type Shadow } from './shadow.ts';
import {
  readWorktree,
  writeIndexTrees,
  writeWorktreeTrees,
  type SnapshotTrees,
  type WorktreeContent,
} from './snapshot-trees.ts';
import { itemsOf, writeArchive, type ArchiveNotes } from './tar-archive.ts';

export interface CapturedParts {
  trees: SnapshotTrees;
  prerequisites: string[];
  base: string | null;
  skipped: SkippedEntry[];
  warnings: WarningEntry[];
  kept: KeptCounts;
}

/** Everything the git steps share while they refine what fits. */
export interface Snapshot {
  observation: Observation;
  content: WorktreeContent;
  trees: SnapshotTrees;
  roots: Roots;
  notes: ArchiveNotes;
}

/** Writes every part but meta.json; what does not wait for another runs beside it. */
export async function captureParts(
  request: CaptureRequest,
  observation: Observation,
  conversation: Promise<ArchiveNotes>,
  writer: PartWriter,
  hooks: { onPhase?: (phase: 'read') => void | Promise<void> },
): Promise<CapturedParts> {
  const notes: ArchiveNotes = {
    skipped: [...observation.skipped],
    warnings: [...observation.warnings],
  };
  const archives = Promise.all([
    archiveUntracked(request, observation, writer, notes),
    archiveNested(request, observation, writer, notes),
    noteFileMetadata(observation, notes.warnings),
  ]);
  archives.catch(() => undefined);
  const content = readWorktree(
    observation.shadow,
    observation.tracked,
    new Set(observation.conversions.converted),
    request.caps.file_bytes_max,
    notes,
  );
  await hooks.onPhase?.('read');
  const snapshot = await takeSnapshot(request, observation, content, notes);
  const { trees } = snapshot;
  const objects = writeObjects(request, snapshot, writer);
  objects.catch(() => undefined);
  const describe = async (): Promise<GitState> => {
    const views = writeViews(request, snapshot, writer);
    views.catch(() => undefined);
    const state = stateOf(snapshot);
    await writer.write('gitstate', Buffer.from(JSON.stringify(state)), writer.extraCodec);
    await views;
    return state;
  };
  let state = await describe();
  const { prerequisites } = await objects;
  // What did not fit into the bundle is not in the trees any more.
  if (snapshot.trees !== trees) state = await describe();
  const [untracked] = await archives;
  const { skipped, warnings } = await conversation;
  notes.skipped.push(...skipped);
  notes.warnings.push(...warnings, ...configurationWarnings(observation.repository));
  return {
    trees: snapshot.trees,
    prerequisites,
    base: observation.objects.base,
    ...notes,
    kept: {
      tracked_files: state.times.seconds.length,
      changed_files: content.changed.length + content.gone.length,
      untracked_files: untracked.files,
      untracked_bytes: untracked.bytes,
      conversation_files: observation.conversation.length,
      refs: state.refs.length,
      stashes: snapshot.roots.stashes,
      nested_repositories: observation.nested.repositories.length,
    },
  };
}

const stateOf = ({ observation, content, trees }: Snapshot): GitState =>
  buildGitState({
    repository: observation.repository,
    index: observation.index,
    scan: observation.tracked,
    content,
    trees,
    files: observation.files,
    largeFiles: observation.conversions.largeFiles,
    nested: observation.nested,
  });

async function takeSnapshot(
  request: CaptureRequest,
  observation: Observation,
  content: WorktreeContent,
  notes: ArchiveNotes,
): Promise<Snapshot> {
  const { shadow, repository, index, tracked, files, nested, objects } = observation;
  const indexTrees = await writeIndexTrees(shadow, index);
  const trees = {
    ...indexTrees,
    ...(await writeWorktreeTrees(shadow, index, tracked, content, indexTrees.index)),
  };
  const roots = findRoots(
    shadow,
    repository,
    { trees, index, files, baseBranch: request.base_branch, types: objects.types },
    notes.warnings,
  );
  nested.rootIds.forEach((id, number) => {
    roots.refs.push({ name: `refs/hangar/n/c${number}`, id });
  });
  nested.rootTrees.forEach((tree, number) => {
    roots.refs.push({ name: `refs/hangar/n/t${number}`, id: writeCommit(shadow, tree, null) });
  });
  return { observation, content, trees, roots, notes };
}

/** HEAD, where all that it does not have is among the shadow's new objects. */
function soleParent({ observation, trees }: Snapshot): string | null {
  const { objects, repository, shadow } = observation;
  if (objects.headTree !== trees.index) return null;
  const isMade = trees.worktree === trees.index || shadow.objects.has(trees.worktree);
  return isMade ? repository.headId : null;
}

/** repo.bundle, base.pack and the objects of git-lfs. */
async function writeObjects(
  request: CaptureRequest,
  snapshot: Snapshot,
  writer: PartWriter,
): Promise<{ prerequisites: string[] }> {
  const { shadow, repository } = snapshot.observation;
  const small = writeSmallBundle(shadow, snapshot.roots, soleParent(snapshot), writer);
  const first =
    small ??
    (await writeBundle(shadow, snapshot.roots, writer).catch(async () => {
      // Perhaps a tree is gone that the index names; then git makes it anew.
      await remakeTrees(snapshot);
      await dropMissing(snapshot);
      return writeBundle(shadow, snapshot.roots, writer);
    }));
  if (first.size > request.caps.part_bytes_max) await fitBundle(request, snapshot, writer);
  await writer.adopt('repo.bundle');
  const prerequisites = prerequisitesOf(writer.path('repo.bundle'));
  const known = new Set(request.known_base ?? []);
  if (prerequisites.some((id) => !known.has(id))) {
    await writeBasePack(shadow, prerequisites, writer, snapshot.notes.warnings);
  }
  const large = await findLargeObjects(shadow, repository, snapshot.roots);
  if (large.length > 0) {
    await writeArchive(
      writer,
      {
        root: repository.commonDirectory,
        items: itemsOf(repository.commonDirectory, large),
        part: 'lfs',
        codec: writer.extraCodec,
        bytesMax: request.caps.part_bytes_max,
        sumReason: 'part_cap',
        caps: request.caps,
        withParents: false,
      },
      snapshot.notes,
    );
  }
  return { prerequisites };
}

const PATCH_OVER_CAP: WarningEntry = {
  path: 'wip.patch',
  reason: 'over the cap: only this view is missing, the content is in repo.bundle',
};

/** wip.patch (documented, for people and older readers) and changes.json. */
async function writeViews(
  request: CaptureRequest,
  snapshot: Snapshot,
  writer: PartWriter,
): Promise<void> {
  const { observation, trees, notes } = snapshot;
  const { shadow, repository, untracked, objects } = observation;
  const head = repository.headId ?? writeEmptyTree(shadow);
  const headTree = objects.headTree ?? head;
  const { base } = objects;
  const input = {
    base: base ?? (repository.headId === null ? null : head),
    baseId: base,
    head,
    headTree,
    index: trees.index,
    view: trees.view,
    untracked: untracked.files,
  };
  const { patch, cut, forArea } = await makePatch(
    shadow,
    [headTree, trees.view],
    request.caps.part_bytes_max,
  );
  // With nothing staged it is the diff of what is not.
  const isSame = forArea !== null && headTree === trees.index;
  const known = isSame ? { area: 'unstaged' as const, output: forArea } : null;
  const changes = await collectChanges(shadow, input, known);
  if (cut) notes.warnings.push(PATCH_OVER_CAP);
  else await writer.write('wip.patch', patch, 'none');
  await writer.write('changes.json', Buffer.from(JSON.stringify(changes)), writer.extraCodec);
}

export const writeEmptyTree = (shadow: Shadow): string =>
  shadow.objects.add('tree', Buffer.alloc(0));

async function archiveUntracked(
  request: CaptureRequest,
  observation: Observation,
  writer: PartWriter,
  notes: ArchiveNotes,
): Promise<{ files: number; bytes: number }> {
  const { untracked, work } = observation;
  const kept = await writeArchive(
    writer,
    {
      root: work,
      items: itemsOf(work, [...untracked.files, ...untracked.emptyDirectories]),
      part: 'untracked.tgz',
      codec: 'gzip',
      bytesMax: request.caps.untracked_bytes_max,
      sumReason: 'untracked_cap',
      caps: request.caps,
      withParents: true,
    },
    notes,
  );
  return { files: kept.length, bytes: kept.reduce((sum, item) => sum + item.bytes, 0) };
}

export async function archiveConversation(
  request: CaptureRequest,
  home: string,
  conversation: readonly string[],
  writer: PartWriter,
): Promise<ArchiveNotes> {
  const notes: ArchiveNotes = { skipped: [], warnings: [] };
  await writeArchive(
    writer,
    {
      root: home,
      items: itemsOf(home, conversation),
      part: 'agent.tgz',
      codec: 'gzip',
      bytesMax: request.caps.part_bytes_max,
      sumReason: 'part_cap',
      caps: request.caps,
      withParents: false,
    },
    notes,
  );
  // Told apart from files of the checkout in the report.
  for (const item of notes.skipped) {
    if (conversation.includes(item.path)) item.path = `~/${item.path}`;
  }
  return notes;
}

async function archiveNested(
  request: CaptureRequest,
  observation: Observation,
  writer: PartWriter,
  notes: ArchiveNotes,
): Promise<void> {
  const { nested, work } = observation;
  if (nested.repositories.length === 0) return;
  await writeArchive(
    writer,
    {
      root: work,
      items: itemsOf(work, nested.paths),
      part: 'nested',
      codec: writer.extraCodec,
      bytesMax: request.caps.part_bytes_max,
      sumReason: 'part_cap',
      caps: request.caps,
      withParents: true,
    },
    notes,
  );
}
