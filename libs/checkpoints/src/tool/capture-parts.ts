import { prerequisitesOf, writeBasePack, writeBundle } from './bundle.ts';
import { collectChanges, DIFF } from './changes.ts';
import type { CaptureRequest, KeptCounts, SkippedEntry, WarningEntry } from './contract.ts';
import { noteFileMetadata } from './file-metadata.ts';
import { dropMissing, fitBundle } from './fit-bundle.ts';
import { buildGitState } from './git-state.ts';
import { findLargeObjects } from './large-files.ts';
import type { Observation } from './observe.ts';
import type { PartWriter } from './part-writer.ts';
import { findRoots, resolveRemote, type Roots } from './roots.ts';
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

/** Writes every part but meta.json. Archives run beside the git steps: each is half of the time. */
export async function captureParts(
  request: CaptureRequest,
  observation: Observation,
  writer: PartWriter,
  hooks: { onPhase?: (phase: 'read') => void | Promise<void> },
): Promise<CapturedParts> {
  const notes: ArchiveNotes = {
    skipped: [...observation.skipped],
    warnings: [...observation.warnings],
  };
  const archives = Promise.all([
    archiveUntracked(request, observation, writer, notes),
    archiveConversation(request, observation, writer, notes),
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
  const { prerequisites } = await writeObjects(request, snapshot, writer);
  const base = await writeViews(request, snapshot, writer);
  const state = buildGitState(
    {
      repository: observation.repository,
      index: observation.index,
      scan: observation.tracked,
      content: snapshot.content,
      trees: snapshot.trees,
      files: observation.files,
      largeFiles: observation.conversions.largeFiles,
      nested: observation.nested,
    },
    notes.warnings,
  );
  writer.write('gitstate', Buffer.from(JSON.stringify(state)), writer.extraCodec);
  const [untracked] = await archives;
  return {
    trees: snapshot.trees,
    prerequisites,
    base,
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

async function takeSnapshot(
  request: CaptureRequest,
  observation: Observation,
  content: WorktreeContent,
  notes: ArchiveNotes,
): Promise<Snapshot> {
  const { shadow, repository, index, tracked, files, nested } = observation;
  const indexTrees = await writeIndexTrees(shadow, index);
  const trees = {
    ...indexTrees,
    ...(await writeWorktreeTrees(shadow, tracked, content, indexTrees.index)),
  };
  const roots = await findRoots(
    shadow,
    repository,
    { trees, index, files, baseBranch: request.base_branch },
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

/** repo.bundle, base.pack and the objects of git-lfs. */
async function writeObjects(
  request: CaptureRequest,
  snapshot: Snapshot,
  writer: PartWriter,
): Promise<{ prerequisites: string[] }> {
  const { shadow, repository } = snapshot.observation;
  const first = await writeBundle(shadow, snapshot.roots, writer).catch(async (error: unknown) => {
    if (!(await dropMissing(snapshot))) throw error;
    return writeBundle(shadow, snapshot.roots, writer);
  });
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

/** wip.patch (documented, for people and older readers) and changes.json. Returns the base. */
async function writeViews(
  request: CaptureRequest,
  snapshot: Snapshot,
  writer: PartWriter,
): Promise<string | null> {
  const { observation, trees, notes } = snapshot;
  const { shadow, repository, untracked } = observation;
  const head = repository.headId ?? (await writeEmptyTree(shadow));
  const base = await findBase(shadow, repository, request.base_branch);
  const [patch, changes] = await Promise.all([
    shadow.git([...DIFF, '-p', '--binary', head, trees.view], {
      outputBytesMax: request.caps.part_bytes_max,
    }),
    collectChanges(shadow, {
      base: base ?? (repository.headId === null ? null : head),
      baseId: base,
      head,
      index: trees.index,
      view: trees.view,
      untracked: untracked.files,
    }),
  ]);
  if (patch.cut) {
    notes.warnings.push({
      path: 'wip.patch',
      reason: 'over the cap: only this view is missing, the content is in repo.bundle',
    });
  } else writer.write('wip.patch', patch.stdout, 'none');
  writer.write('changes.json', Buffer.from(JSON.stringify(changes)), writer.extraCodec);
  return base;
}

export async function writeEmptyTree(shadow: Shadow): Promise<string> {
  const { stdout } = await shadow.git(['hash-object', '-w', '-t', 'tree', '--stdin'], {
    input: '',
  });
  return stdout.toString('latin1').trim();
}

/** The commit of the base branch that this work builds on. */
export async function findBase(
  shadow: Shadow,
  repository: Observation['repository'],
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
  observation: Pick<Observation, 'home' | 'conversation'>,
  writer: PartWriter,
  notes: ArchiveNotes,
): Promise<void> {
  const { home, conversation } = observation;
  const before = notes.skipped.length;
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
  for (const item of notes.skipped.slice(before)) {
    if (conversation.includes(item.path)) item.path = `~/${item.path}`;
  }
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
