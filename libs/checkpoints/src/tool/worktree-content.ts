import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import { joinPath, toFs, toReport } from './byte-path.ts';
import type { SkippedEntry, WarningEntry } from './contract.ts';
import { objectId, type Shadow } from './shadow.ts';
import { diskMode, type TrackedFile } from './tracked-files.ts';

/** The bytes on disk of tracked files that may differ from their index entry. */
export interface DiskContent {
  path: string;
  mode: number;
  id: string;
  /** Uncompressed. */
  bytes: number;
}

export interface ContentNotes {
  skipped: SkippedEntry[];
  warnings: WarningEntry[];
}

/** A file that changes while it is read is read again so often, then kept as it was read. */
const READ_ATTEMPTS_MAX = 3;

type ReadOutcome = { body: Buffer; settled: boolean } | 'missing' | 'unreadable' | 'too_large';

function readBytes(path: string, bytesMax: number): ReadOutcome {
  let body = Buffer.alloc(0);
  for (let attempt = 0; attempt < READ_ATTEMPTS_MAX; attempt++) {
    let file: number;
    try {
      file = openSync(toFs(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' ? 'missing' : 'unreadable';
    }
    try {
      const before = fstatSync(file, { bigint: true });
      if (!before.isFile()) return 'missing';
      if (before.size > BigInt(bytesMax)) return 'too_large';
      body = readFileSync(file);
      const after = fstatSync(file, { bigint: true });
      if (after.mtimeNs === before.mtimeNs && BigInt(body.length) === before.size) {
        return { body, settled: true };
      }
    } catch {
      return 'unreadable';
    } finally {
      closeSync(file);
    }
  }
  return { body, settled: false };
}

/** Where a link points to; null when there is none. */
function readLink(path: string): Buffer | null {
  try {
    return readlinkSync(toFs(path), 'buffer');
  } catch {
    return null;
  }
}

/**
 * Reads one tracked path. Null means: leave it out of the work tree (`gone`) or keep the index's
 * entry in its place (`kept_back`, which is then named in `skipped`).
 */
export function readContent(
  shadow: Shadow,
  file: TrackedFile,
  fileBytesMax: number,
  notes: ContentNotes,
): { content: DiskContent; body: Buffer } | 'gone' | 'kept_back' {
  const { path, stat } = file;
  if (stat === null) return file.kind === 'unreadable' ? skip(notes, file, 'unreadable') : 'gone';
  if (file.kind !== 'file' && file.kind !== 'link') return 'gone';
  const full = joinPath(shadow.work, path);
  let body: Buffer;
  if (file.kind === 'link') {
    const target = readLink(full);
    if (target === null) return 'gone';
    body = target;
  } else {
    const outcome = readBytes(full, fileBytesMax);
    if (outcome === 'missing') return 'gone';
    if (outcome === 'unreadable') return skip(notes, file, 'unreadable');
    if (outcome === 'too_large') return skip(notes, file, 'file_cap');
    if (!outcome.settled) {
      notes.warnings.push({ path: toReport(path), reason: 'changed while it was read' });
    }
    body = outcome.body;
  }
  const id = objectId(shadow.format, 'blob', body);
  return { content: { path, mode: diskMode(stat), id, bytes: body.length }, body };
}

function skip(notes: ContentNotes, file: TrackedFile, reason: SkippedEntry['reason']): 'kept_back' {
  notes.skipped.push({ path: toReport(file.path), bytes: file.stat?.size ?? 0, reason });
  return 'kept_back';
}
