import { lstatSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { compareBytes, joinPath, parentOf, toFs, toReport, toText } from './byte-path.ts';
import type { CaptureCaps, PartCodec, PartName, SkippedEntry, WarningEntry } from './contract.ts';
import type { PartWriter } from './part-writer.ts';
import { runProcess } from './run-process.ts';
import { cleanEnvironment } from './shadow.ts';
import { ToolError } from './tool-error.ts';

/**
 * Archives of explicit lists, made by GNU tar: it keeps sparse files, hard links, extended
 * attributes and nanosecond times (R6). The caps choose files, smallest first, never the whole part.
 */
export interface ArchiveItem {
  path: string;
  /** Bytes as they count for the caps: the smaller of length and allocation. */
  bytes: number;
}

export interface ArchiveNotes {
  skipped: SkippedEntry[];
  warnings: WarningEntry[];
}

/** What a text may compress to at best; a list above cap × this is not even tried. */
const COMPRESSION_RATIO_MAX = 8;
const ATTEMPTS_MAX = 5;
const MESSAGE_LINES_MAX = 20;
/** So much is compressed in one piece: as a stream it would wait for everything else that goes on. */
const WHOLE_BYTES_MAX = 16 * 1024 * 1024;
/** A tar header and the padding of a file. */
const OVERHEAD_BYTES = 1024;

const TAR = [
  '--create',
  '--ignore-failed-read',
  '--sparse',
  '--format=posix',
  '--pax-option=delete=atime,delete=ctime',
  '--xattrs',
  '--xattrs-include=user.*',
  '--numeric-owner',
  // As much as a pipe holds: a sixth of the chunks to compress.
  '--blocking-factor=128',
];

export function itemsOf(root: string, paths: readonly string[]): ArchiveItem[] {
  return paths.map((path) => {
    const stat = lstatSync(toFs(joinPath(root, path)), { throwIfNoEntry: false });
    const bytes = stat?.isFile() ? Math.min(stat.size, stat.blocks * 512) : 0;
    return { path, bytes };
  });
}

/** Leaves out files over the per-file cap, then the largest until the sum fits. */
function choose(
  items: readonly ArchiveItem[],
  fileBytesMax: number,
  sumBytesMax: number,
  skipped: Map<string, SkippedEntry>,
  sumReason: SkippedEntry['reason'],
): ArchiveItem[] {
  const kept: ArchiveItem[] = [];
  let sum = 0;
  for (const item of [...items].sort((a, b) => a.bytes - b.bytes)) {
    const tooLarge = item.bytes > fileBytesMax;
    if (tooLarge || (item.bytes > 0 && sum + item.bytes > sumBytesMax)) {
      const reason = tooLarge ? 'file_cap' : sumReason;
      skipped.set(item.path, { path: toReport(item.path), bytes: item.bytes, reason });
    } else {
      sum += item.bytes + OVERHEAD_BYTES;
      kept.push(item);
    }
  }
  return kept;
}

export interface ArchiveRequest {
  root: string;
  items: readonly ArchiveItem[];
  part: PartName;
  codec: PartCodec;
  bytesMax: number;
  sumReason: SkippedEntry['reason'];
  caps: CaptureCaps;
  /** Also list the directories above the items, so that their modes and times are kept. */
  withParents: boolean;
}

/** Writes one archive part; returns the items that are in it. */
export async function writeArchive(
  writer: PartWriter,
  request: ArchiveRequest,
  notes: ArchiveNotes,
): Promise<ArchiveItem[]> {
  const { caps, bytesMax } = request;
  let sumMax = Math.min(bytesMax * COMPRESSION_RATIO_MAX, caps.unpacked_bytes_max);
  for (let attempt = 1; ; attempt++) {
    const skipped = new Map<string, SkippedEntry>();
    const kept = choose(request.items, caps.file_bytes_max, sumMax, skipped, request.sumReason);
    const found = await runTar(writer, request, kept);
    const size = writer.parts.find((part) => part.name === request.part)!.size;
    if (size > bytesMax && kept.some((item) => item.bytes > 0) && attempt < ATTEMPTS_MAX) {
      // The last attempt fits also when nothing compresses.
      const last = attempt === ATTEMPTS_MAX - 1;
      sumMax = last ? bytesMax * 0.95 : sumWithoutLargest(kept, size - bytesMax);
      continue;
    }
    notes.skipped.push(...skipped.values(), ...found.skipped);
    notes.warnings.push(...found.warnings);
    return kept;
  }
}

/** The sum that is left when the largest items that make up for the excess are gone. */
function sumWithoutLargest(kept: readonly ArchiveItem[], excess: number): number {
  let dropped = 0;
  let sum = kept.reduce((total, item) => total + item.bytes + OVERHEAD_BYTES, 0);
  for (let at = kept.length - 1; at >= 0 && dropped < excess; at--) {
    dropped += kept[at]!.bytes;
    sum -= kept[at]!.bytes + OVERHEAD_BYTES;
  }
  return sum;
}

async function runTar(
  writer: PartWriter,
  request: ArchiveRequest,
  kept: readonly ArchiveItem[],
): Promise<ArchiveNotes> {
  const names = new Set<string>();
  for (const { path } of kept) {
    names.add(path);
    if (!request.withParents) continue;
    for (let parent = parentOf(path); parent !== ''; parent = parentOf(parent)) names.add(parent);
  }
  const list = [...names].sort(compareBytes);
  const place = ['-C', toText(request.root), '--no-recursion', '--null'];
  const args = [...TAR, ...place, '--verbatim-files-from', '-T', '-'];
  const options = {
    env: cleanEnvironment(),
    cwd: '/',
    input: Buffer.from(list.map((path) => `${path}\0`).join(''), 'latin1'),
  };
  const bytes = kept.reduce((sum, item) => sum + item.bytes + OVERHEAD_BYTES, 0);
  if (bytes <= WHOLE_BYTES_MAX) {
    const temporary = writer.textPath(`${request.part}.tar`);
    try {
      const result = await runProcess('tar', [...args, `--file=${temporary}`], options);
      const notes = judgeTar(result.status, result.message, request.part);
      await writer.write(request.part, readFileSync(temporary), request.codec);
      return notes;
    } finally {
      rmSync(temporary, { force: true });
    }
  }
  const part = writer.open(request.part, request.codec);
  const result = await runProcess('tar', args, { ...options, output: part.streams });
  part.close();
  return judgeTar(result.status, result.message, request.part);
}

const UNREADABLE = /^tar: (.*?): (?:Warning: )?Cannot (?:open|read|stat|savedir).*$/;
const CHANGED =
  /^tar: (.*): (?:file changed as we read it|File shrank by|File removed before we read it)/;

/** tar's exit 1 is "a file changed": normal for a log file, never a failed checkpoint. */
function judgeTar(status: number, message: string, part: string): ArchiveNotes {
  const notes: ArchiveNotes = { skipped: [], warnings: [] };
  const lines = message.split('\n').filter((line) => line !== '');
  for (const line of lines.slice(0, MESSAGE_LINES_MAX)) {
    const unreadable = UNREADABLE.exec(line)?.[1];
    const changed = CHANGED.exec(line)?.[1];
    if (unreadable !== undefined) {
      const gone = line.endsWith('No such file or directory');
      if (gone) notes.warnings.push({ path: toReport(unreadable), reason: 'vanished while read' });
      else notes.skipped.push({ path: toReport(unreadable), bytes: 0, reason: 'unreadable' });
    } else if (changed !== undefined) {
      notes.warnings.push({ path: toReport(changed), reason: 'changed while it was read' });
    } else if (!line.includes('previous errors')) {
      notes.warnings.push({ reason: `${part}: ${toReport(line)}` });
    }
  }
  const explained = notes.skipped.length + notes.warnings.length > 0;
  if (status !== 0 && !explained) {
    throw new ToolError('internal', `tar ended with ${status} for ${part}`);
  }
  return notes;
}

/** Every file, link and empty directory below a directory; what a conversation directory holds. */
export function listBelow(root: string, path: string, entriesMax: number): string[] {
  const found: string[] = [];
  const visit = (directory: string): void => {
    let children;
    try {
      children = readdirSync(toFs(joinPath(root, directory)), {
        encoding: 'latin1',
        withFileTypes: true,
      });
    } catch {
      found.push(directory);
      return;
    }
    if (children.length === 0) found.push(directory);
    for (const child of children) {
      if (found.length >= entriesMax) return;
      const name = joinPath(directory, child.name);
      if (child.isDirectory()) visit(name);
      else if (child.isFile() || child.isSymbolicLink()) found.push(name);
    }
  };
  const stat = lstatSync(toFs(joinPath(root, path)), { throwIfNoEntry: false });
  if (stat?.isDirectory()) visit(path);
  else if (stat?.isFile()) found.push(path);
  return found.sort(compareBytes);
}
