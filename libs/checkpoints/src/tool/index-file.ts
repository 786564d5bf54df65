import { createHash } from 'node:crypto';
import { compareBytes } from './byte-path.ts';
import { ToolError } from './tool-error.ts';

/**
 * git's index, read and written directly: one pass instead of five `git ls-files` processes, and the
 * only way to carry over stat data (gitformat-index, versions 2 to 4).
 */

export type ObjectFormat = 'sha1' | 'sha256';

/** The stat data git caches for an entry; times as in `struct stat`, all 32 bits. */
export interface CachedStat {
  ctimeSeconds: number;
  ctimeNanos: number;
  mtimeSeconds: number;
  mtimeNanos: number;
  device: number;
  inode: number;
  uid: number;
  gid: number;
  size: number;
}

export interface IndexEntry {
  path: string;
  mode: number;
  id: string;
  stage: number;
  assumeUnchanged: boolean;
  skipWorktree: boolean;
  intentToAdd: boolean;
  stat: CachedStat;
}

export interface IndexFile {
  entries: IndexEntry[];
  /** Entries live in another file (`link`): rewrite it with git before use. */
  split: boolean;
  /** Whole directories are one entry (`sdir`): rewrite it with git before use. */
  sparse: boolean;
  /** The resolve-undo extension's body, or null. */
  resolveUndo: Buffer | null;
}

export const MODE_LINK = 0o120000;
export const MODE_GITLINK = 0o160000;
export const ZERO_STAT: CachedStat = {
  ctimeSeconds: 0,
  ctimeNanos: 0,
  mtimeSeconds: 0,
  mtimeNanos: 0,
  device: 0,
  inode: 0,
  uid: 0,
  gid: 0,
  size: 0,
};

const STAT_BYTES = 40;
const FLAG_ASSUME = 0x8000;
const FLAG_EXTENDED = 0x4000;
const EXTENDED_SKIP = 0x4000;
const EXTENDED_INTENT = 0x2000;
const PATH_LENGTH_MAX = 0xfff;

export const idBytesOf = (format: ObjectFormat): number => (format === 'sha1' ? 20 : 32);

export const zeroId = (format: ObjectFormat): string => '0'.repeat(idBytesOf(format) * 2);

/** Throws `corrupt` on anything that is not an index. */
export function parseIndex(file: Buffer, format: ObjectFormat): IndexFile {
  const idBytes = idBytesOf(format);
  if (file.length < 12 + idBytes || file.toString('latin1', 0, 4) !== 'DIRC') {
    throw new ToolError('corrupt', 'the index is not readable: bad signature');
  }
  const version = file.readUInt32BE(4);
  if (version < 2 || version > 4) {
    throw new ToolError('unsupported', `index version ${version} is not known`);
  }
  const count = file.readUInt32BE(8);
  const result: IndexFile = { entries: [], split: false, sparse: false, resolveUndo: null };
  try {
    const end = parseEntries(file, { count, version, idBytes }, result.entries);
    parseExtensions(file, end, file.length - idBytes, result);
  } catch (error) {
    if (error instanceof ToolError) throw error;
    throw new ToolError('corrupt', 'the index is not readable: it ends too early', error);
  }
  return result;
}

function parseEntries(
  file: Buffer,
  shape: { count: number; version: number; idBytes: number },
  entries: IndexEntry[],
): number {
  let position = 12;
  let previous = '';
  for (let number = 0; number < shape.count; number++) {
    const start = position;
    const id = file.toString('hex', start + STAT_BYTES, start + STAT_BYTES + shape.idBytes);
    position = start + STAT_BYTES + shape.idBytes;
    const flags = file.readUInt16BE(position);
    position += 2;
    let extended = 0;
    if (flags & FLAG_EXTENDED) {
      extended = file.readUInt16BE(position);
      position += 2;
    }
    let path: string;
    if (shape.version === 4) {
      const strip = readVariable(file, position);
      const end = file.indexOf(0, strip.next);
      path =
        previous.slice(0, previous.length - strip.value) + file.toString('latin1', strip.next, end);
      position = end + 1;
    } else {
      const end = file.indexOf(0, position);
      path = file.toString('latin1', position, end);
      position = start + ((end - start + 8) & ~7);
    }
    previous = path;
    entries.push({
      path,
      mode: file.readUInt32BE(start + 24),
      id,
      stage: (flags >> 12) & 3,
      assumeUnchanged: (flags & FLAG_ASSUME) !== 0,
      skipWorktree: (extended & EXTENDED_SKIP) !== 0,
      intentToAdd: (extended & EXTENDED_INTENT) !== 0,
      stat: readStat(file, start),
    });
  }
  return position;
}

const readStat = (file: Buffer, at: number): CachedStat => ({
  ctimeSeconds: file.readUInt32BE(at),
  ctimeNanos: file.readUInt32BE(at + 4),
  mtimeSeconds: file.readUInt32BE(at + 8),
  mtimeNanos: file.readUInt32BE(at + 12),
  device: file.readUInt32BE(at + 16),
  inode: file.readUInt32BE(at + 20),
  uid: file.readUInt32BE(at + 28),
  gid: file.readUInt32BE(at + 32),
  size: file.readUInt32BE(at + 36),
});

/** The offset encoding of pack files: each continuation adds one before shifting. */
function readVariable(file: Buffer, at: number): { value: number; next: number } {
  let position = at;
  let byte = file.readUInt8(position++);
  let value = byte & 0x7f;
  while (byte & 0x80) {
    byte = file.readUInt8(position++);
    value = ((value + 1) << 7) | (byte & 0x7f);
  }
  return { value, next: position };
}

function parseExtensions(file: Buffer, from: number, end: number, result: IndexFile): void {
  let position = from;
  while (position + 8 <= end) {
    const name = file.toString('latin1', position, position + 4);
    const size = file.readUInt32BE(position + 4);
    if (name === 'link') result.split = true;
    else if (name === 'sdir') result.sparse = true;
    else if (name === 'REUC') {
      result.resolveUndo = Buffer.from(file.subarray(position + 8, position + 8 + size));
    }
    position += 8 + size;
  }
}

/** Version 2, or 3 where an entry needs the extended flags. Entries are sorted here. */
export function serialiseIndex(
  entries: readonly IndexEntry[],
  format: ObjectFormat,
  resolveUndo: Buffer | null,
): Buffer {
  const idBytes = idBytesOf(format);
  const sorted = [...entries].sort((a, b) => compareBytes(a.path, b.path) || a.stage - b.stage);
  const extended = sorted.some((entry) => entry.skipWorktree || entry.intentToAdd);
  const sizes = sorted.map((entry) => entryBytes(entry, idBytes));
  const undoBytes = resolveUndo ? 8 + resolveUndo.length : 0;
  const bodyBytes = sizes.reduce((sum, size) => sum + size, 12) + undoBytes;
  const file = Buffer.alloc(bodyBytes + idBytes);
  file.write('DIRC', 'latin1');
  file.writeUInt32BE(extended ? 3 : 2, 4);
  file.writeUInt32BE(sorted.length, 8);
  let position = 12;
  for (const [number, entry] of sorted.entries()) {
    writeEntry(file, position, entry, idBytes);
    position += sizes[number]!;
  }
  if (resolveUndo) {
    file.write('REUC', position, 'latin1');
    file.writeUInt32BE(resolveUndo.length, position + 4);
    resolveUndo.copy(file, position + 8);
  }
  createHash(format).update(file.subarray(0, bodyBytes)).digest().copy(file, bodyBytes);
  return file;
}

const isExtended = (entry: IndexEntry): boolean => entry.skipWorktree || entry.intentToAdd;

const pathOffset = (entry: IndexEntry, idBytes: number): number =>
  STAT_BYTES + idBytes + 2 + (isExtended(entry) ? 2 : 0);

const entryBytes = (entry: IndexEntry, idBytes: number): number =>
  (pathOffset(entry, idBytes) + entry.path.length + 8) & ~7;

/** Writes into one buffer for all: tens of thousands of small ones are work for the collector. */
function writeEntry(file: Buffer, at: number, entry: IndexEntry, idBytes: number): void {
  const { stat } = entry;
  file.writeUInt32BE(stat.ctimeSeconds >>> 0, at);
  file.writeUInt32BE(stat.ctimeNanos >>> 0, at + 4);
  file.writeUInt32BE(stat.mtimeSeconds >>> 0, at + 8);
  file.writeUInt32BE(stat.mtimeNanos >>> 0, at + 12);
  file.writeUInt32BE(stat.device >>> 0, at + 16);
  file.writeUInt32BE(stat.inode >>> 0, at + 20);
  file.writeUInt32BE(entry.mode >>> 0, at + 24);
  file.writeUInt32BE(stat.uid >>> 0, at + 28);
  file.writeUInt32BE(stat.gid >>> 0, at + 32);
  file.writeUInt32BE(stat.size >>> 0, at + 36);
  file.write(entry.id, at + STAT_BYTES, 'hex');
  const extended = isExtended(entry);
  const flags =
    (entry.assumeUnchanged ? FLAG_ASSUME : 0) |
    (extended ? FLAG_EXTENDED : 0) |
    (entry.stage << 12) |
    Math.min(entry.path.length, PATH_LENGTH_MAX);
  file.writeUInt16BE(flags, at + STAT_BYTES + idBytes);
  if (extended) {
    const more =
      (entry.skipWorktree ? EXTENDED_SKIP : 0) | (entry.intentToAdd ? EXTENDED_INTENT : 0);
    file.writeUInt16BE(more, at + STAT_BYTES + idBytes + 2);
  }
  file.write(entry.path, at + pathOffset(entry, idBytes), 'latin1');
}
