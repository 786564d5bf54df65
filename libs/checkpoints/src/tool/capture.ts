import { mkdirSync, statSync } from 'node:fs';
import { fromText, joinPath, toFs } from './byte-path.ts';
import type { CaptureReport, CaptureRequest, UnchangedReport, WarningEntry } from './contract.ts';
import { captureFiles } from './capture-files.ts';
import { writeMeta } from './capture-meta.ts';
import { archiveConversation, captureParts } from './capture-parts.ts';
import { listConversation, observe } from './observe.ts';
import { PartWriter } from './part-writer.ts';
import { findGitDirectory, readRepository, readText, type Repository } from './repository.ts';
import { makeScratch, removeScratch } from './shadow.ts';
import type { ArchiveNotes } from './tar-archive.ts';

/** HEAD, refs or index moved meanwhile: the capture is taken again so often, then warns. */
const ATTEMPTS_MAX = 3;

export interface CaptureHooks {
  /** Called at named moments; the tests let the world change there. */
  onPhase?: (phase: 'observed' | 'read' | 'written') => void | Promise<void>;
}

/** Takes one checkpoint (SPEC C1, C2). Parts land in `out`, meta.json last. */
export async function capture(
  request: CaptureRequest,
  hooks: CaptureHooks = {},
): Promise<CaptureReport | UnchangedReport> {
  mkdirSync(request.out, { recursive: true });
  const writer = new PartWriter(fromText(request.out), request.zstd);
  for (let attempt = 1; ; attempt++) {
    writer.clear();
    const scratch = makeScratch();
    try {
      const result = await captureOnce(request, writer, scratch, hooks, attempt);
      if (result !== 'moved') return result;
    } catch (error) {
      writer.clear();
      throw error;
    } finally {
      removeScratch(scratch);
    }
  }
}

async function captureOnce(
  request: CaptureRequest,
  writer: PartWriter,
  scratch: string,
  hooks: CaptureHooks,
  attempt: number,
): Promise<CaptureReport | UnchangedReport | 'moved'> {
  const work = fromText(request.work);
  const home = fromText(request.home);
  const before = pin(work);
  if (findGitDirectory(work).state !== 'found') return captureFiles(request, writer);
  const conversation = listConversation(home, request.conversation_directories);
  const archive = (): Promise<ArchiveNotes> =>
    archiveConversation(request, home, conversation, writer);
  let early: Promise<ArchiveNotes> | undefined;
  // Between turns there is mostly nothing new: then it waits until that is known.
  const comparing = (): void => {
    if (request.reason === 'interval') return;
    early = archive();
    early.catch(() => undefined);
  };
  try {
    const about = { conversions: true, conversation, comparing };
    const observation = await observe(request, scratch, about);
    if (observation === null) {
      await early;
      return await captureFiles(request, writer);
    }
    if (observation.fingerprint === request.unless_fingerprint) {
      await early;
      writer.clear();
      return { unchanged: true, fingerprint: observation.fingerprint };
    }
    await hooks.onPhase?.('observed');
    const archived = early ?? archive();
    archived.catch(() => undefined);
    const parts = await captureParts(request, observation, archived, writer, hooks);
    await hooks.onPhase?.('written');
    if (pin(work) !== before) {
      if (attempt < ATTEMPTS_MAX) return 'moved';
      parts.warnings.push(MOVING);
    }
    return writeMeta(request, observation, parts, writer);
  } finally {
    // Nothing is written any more when the writer is cleared.
    await early?.catch(() => undefined);
  }
}

const MOVING: WarningEntry = {
  reason:
    'the repository kept changing while the checkpoint was taken: HEAD, index and files may be of slightly different moments',
};

/** What must not move during a capture, as text: HEAD, local and remote refs, the index file. */
function pin(work: string): string {
  const found = findGitDirectory(work);
  if (found.state !== 'found') return found.state;
  const repository: Repository = readRepository(work, found);
  const index = statSync(toFs(joinPath(found.gitDirectory, 'index')), {
    bigint: true,
    throwIfNoEntry: false,
  });
  const stash = readText(joinPath(found.commonDirectory, 'logs/refs/stash'));
  const refs = repository.refs.map((ref) => `${ref.name} ${ref.id}`).join('\n');
  const file = index ? `${index.ino} ${index.size} ${index.mtimeNs} ${index.ctimeNs}` : 'none';
  return [repository.headText, file, stash ?? '', refs].join('\n');
}
