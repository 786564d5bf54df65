import { lstatSync, readdirSync } from 'node:fs';
import { fromText, joinPath, toFs, toReport } from './byte-path.ts';
import { archiveConversation } from './capture-parts.ts';
import { writeMeta } from './capture-meta.ts';
import type { CaptureReport, CaptureRequest, UnchangedReport } from './contract.ts';
import { computeFingerprint } from './fingerprint.ts';
import { listConversation, type ObserveRequest } from './observe.ts';
import type { PartWriter } from './part-writer.ts';
import { itemsOf, writeArchive, type ArchiveNotes } from './tar-archive.ts';

/** Entries of a work directory without a repository; the rest would be named as skipped. */
const FILES_MAX = 500_000;

/** A work directory without a usable repository: every file is kept as untracked. */
export async function captureFiles(
  request: CaptureRequest,
  writer: PartWriter,
): Promise<CaptureReport | UnchangedReport> {
  const work = fromText(request.work);
  const home = fromText(request.home);
  const notes: ArchiveNotes = { skipped: [], warnings: [] };
  const paths = listFiles(work, notes);
  const conversation = listConversation(home, request.conversation_directories);
  const fingerprint = fingerprintOf(work, home, paths, conversation);
  if (fingerprint === request.unless_fingerprint) return { unchanged: true, fingerprint };
  const broken = lstatSync(toFs(joinPath(work, '.git')), { throwIfNoEntry: false }) !== undefined;
  notes.warnings.push({
    reason: broken
      ? 'the repository (.git) is unusable and is not kept: every file is kept as untracked'
      : 'not a git repository: every file is kept as untracked',
  });
  const kept = await writeArchive(
    writer,
    {
      root: work,
      items: itemsOf(work, paths),
      part: 'untracked.tgz',
      codec: 'gzip',
      bytesMax: request.caps.untracked_bytes_max,
      sumReason: 'untracked_cap',
      caps: request.caps,
      withParents: true,
    },
    notes,
  );
  const archived = await archiveConversation(request, home, conversation, writer);
  notes.skipped.push(...archived.skipped);
  notes.warnings.push(...archived.warnings);
  return writeMeta(
    request,
    { fingerprint, untracked: { ignored: { count: 0, paths: [] } }, repository: null },
    {
      trees: null,
      prerequisites: [],
      base: null,
      ...notes,
      kept: {
        tracked_files: 0,
        changed_files: 0,
        untracked_files: kept.length,
        untracked_bytes: kept.reduce((sum, item) => sum + item.bytes, 0),
        conversation_files: conversation.length,
        refs: 0,
        stashes: 0,
        nested_repositories: 0,
      },
    },
    writer,
  );
}

const fingerprintOf = (
  work: string,
  home: string,
  others: string[],
  conversation: string[],
): string =>
  computeFingerprint({
    repository: null,
    index: null,
    scan: null,
    files: [],
    others,
    work,
    home,
    conversation,
  });

/** The fingerprint of a work directory without a repository. */
export function captureFingerprint(request: ObserveRequest): string {
  const work = fromText(request.work);
  const home = fromText(request.home);
  const paths = listFiles(work, { skipped: [], warnings: [] });
  return fingerprintOf(work, home, paths, listConversation(home, request.conversation_directories));
}

function listFiles(work: string, notes: ArchiveNotes): string[] {
  const found: string[] = [];
  const visit = (directory: string): void => {
    let children;
    try {
      children = readdirSync(toFs(directory === '' ? work : joinPath(work, directory)), {
        encoding: 'latin1',
        withFileTypes: true,
      });
    } catch {
      notes.skipped.push({ path: toReport(directory), bytes: 0, reason: 'unreadable' });
      return;
    }
    if (children.length === 0 && directory !== '') found.push(directory);
    for (const child of children) {
      const path = joinPath(directory, child.name);
      if (child.name === '.git' || found.length >= FILES_MAX) continue;
      if (child.isDirectory()) visit(path);
      else if (child.isFile() || child.isSymbolicLink()) found.push(path);
      else {
        const reason = 'special file (pipe, socket or device) is not kept';
        notes.warnings.push({ path: toReport(path), reason });
      }
    }
  };
  visit('');
  return found.sort();
}
