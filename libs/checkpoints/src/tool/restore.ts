import { mkdirSync } from 'node:fs';
import { fromText, joinPath } from './byte-path.ts';
import { describeContinuity } from './continuity.ts';
import type { RestoreReport, RestoreRequest, WarningEntry } from './contract.ts';
import { extractPart, hasPart } from './extract.ts';
import { readGitState } from './read-git-state.ts';
import { findGitDirectory, readRepository, type Repository } from './repository.ts';
import { makeScratch, makeShadow, removeScratch, type Shadow } from './shadow.ts';
import { checkMeta, checkParts } from './restore-checks.ts';
import { restoreDocumented } from './restore-documented.ts';
import { restoreIndex } from './restore-index.ts';
import { fetchObjects, listBase } from './restore-objects.ts';
import { restoreRefs } from './restore-refs.ts';
import { restoreState, restoreInfoFiles } from './restore-state.ts';
import { restoreWorktree } from './restore-worktree.ts';
import { isWithoutFiles, seedIndex } from './seed-index.ts';
import { initRepository } from './init-repository.ts';

/** What the steps of a restore share. */
export interface RestoreContext {
  request: RestoreRequest;
  work: string;
  home: string;
  parts: string;
  repository: Repository;
  shadow: Shadow;
  losses: WarningEntry[];
}

export interface RestoreHooks {
  /** Called between the steps; the tests end the process there. */
  onStep?: (step: string) => void | Promise<void>;
}

const UNPACKED_BYTES_MAX = 2 * 1024 * 1024 * 1024;

/**
 * Puts a checkpoint into a fresh clone (SPEC R1-R4). Nothing is written before every part is
 * checked. Each step computes what it needs from the parts, so a restore that was killed is simply
 * run again, with this checkpoint or an older one.
 */
export async function restore(
  request: RestoreRequest,
  hooks: RestoreHooks = {},
): Promise<RestoreReport> {
  checkMeta(request.meta);
  const unpackedBytesMax = request.unpacked_bytes_max ?? UNPACKED_BYTES_MAX;
  const checking = checkParts(request, unpackedBytesMax);
  checking.catch(() => undefined);
  const scratch = makeScratch();
  try {
    const isRepository = request.meta.object_format !== 'none';
    const report = isRepository
      ? await restoreRepository(request, scratch, checking, hooks)
      : await restoreFiles(request, checking);
    await hooks.onStep?.('conversation');
    await restoreConversation(request);
    return report;
  } finally {
    removeScratch(scratch);
  }
}

async function restoreConversation(request: RestoreRequest): Promise<void> {
  const parts = fromText(request.parts);
  if (!hasPart(parts, 'agent.tgz')) return;
  mkdirSync(request.home, { recursive: true });
  const kept = request.conversation_directories.map(fromText);
  await extractPart(parts, 'agent.tgz', fromText(request.home), { trustedPrefixes: kept });
}

async function restoreFiles(
  request: RestoreRequest,
  checking: Promise<void>,
): Promise<RestoreReport> {
  await checking;
  mkdirSync(request.work, { recursive: true });
  const parts = fromText(request.parts);
  if (hasPart(parts, 'untracked.tgz')) {
    await extractPart(parts, 'untracked.tgz', fromText(request.work), {});
  }
  // A session that never had one has lost none.
  const isExpected = findGitDirectory(fromText(request.work)).state === 'none';
  const losses: WarningEntry[] = isExpected
    ? []
    : [{ reason: 'there was no git repository: files only' }];
  return {
    continuity: describeContinuity(request, losses, { keptBack: 0, cutHistory: false, dropped: 0 }),
    losses,
    head: null,
    head_ref: null,
    proof: { worktree: true, index: true, refs: true },
  };
}

async function restoreRepository(
  request: RestoreRequest,
  scratch: string,
  checking: Promise<void>,
  hooks: RestoreHooks,
): Promise<RestoreReport> {
  const work = fromText(request.work);
  const home = fromText(request.home);
  const format = request.meta.head?.length === 64 ? 'sha256' : 'sha1';
  if (findGitDirectory(work).state === 'none') {
    await checking;
    mkdirSync(request.work, { recursive: true });
  }
  initRepository(work, request.meta.object_format === 'sha256' ? 'sha256' : format);
  const found = findGitDirectory(work);
  if (found.state !== 'found') throw new Error('the fresh repository cannot be found');
  const repository = readRepository(work, found);
  const shadow = makeShadow(scratch, repository, { home, intoRealStore: true });
  const parts = fromText(request.parts);
  const losses: WarningEntry[] = [];
  const context: RestoreContext = { request, work, home, parts, repository, shadow, losses };
  // git reads what the clone has while the parts are checked.
  const listing = listBase(context);
  await checking;
  if (!hasPart(parts, 'gitstate')) return restoreDocumented(context);
  const state = await readGitState(joinPath(parts, 'gitstate'), request.meta);
  await hooks.onStep?.('objects');
  const fetching = fetchObjects(context, state, listing);
  fetching.catch(() => undefined);
  const isEmpty = isWithoutFiles(context);
  // While git works: both take about the same time.
  if (!isEmpty) seedIndex(context);
  const { cutHistory, indexTree } = await fetching;
  await hooks.onStep?.('worktree');
  restoreInfoFiles(context, state);
  const worktree = await restoreWorktree(context, state, { indexTree, isEmpty }, hooks);
  await hooks.onStep?.('index');
  const indexProof = await restoreIndex(context, state, { indexTree, stats: worktree.stats });
  await hooks.onStep?.('refs');
  const refs = await restoreRefs(context, state);
  await hooks.onStep?.('state');
  await restoreState(context, state, refs.names, cutHistory || refs.dropped > 0);
  for (const path of state.kept_back) losses.push({ path, reason: 'its change was not kept' });
  return {
    continuity: describeContinuity(request, losses, {
      keptBack: state.kept_back.length,
      cutHistory,
      dropped: refs.dropped,
    }),
    losses,
    head: state.head.id,
    head_ref: state.head.ref,
    proof: { worktree: worktree.proof, index: indexProof, refs: refs.proof },
  };
}
