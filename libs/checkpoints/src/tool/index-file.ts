import { createHash } from 'node:crypto';
import { compareBytes } from './byte-path.ts';
import {
  idBytesOf,
  IndexTable,
  type CachedStat,
  type IndexEntry,
  type ObjectFormat,
} from './index-table.ts';

/**
 * git's index, read and written directly: one pass instead of five `git ls-files` processes, and the
 * only way to carry over stat data (gitformat-index, versions 2 to 4).
 */

export type { CachedStat, IndexEntry, ObjectFormat } from './index-table.ts';

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

export const zeroId = (format: ObjectFormat): string => '0'.repeat(idBytesOf(format) * 2);

/** An index whose entries are made into objects only when somebody wants all of them. */
export class TableIndex implements IndexFile {
  readonly table: IndexTable;
  readonly split: boolean;
  readonly sparse: boolean;
  readonly resolveUndo: Buffer | null;
  #entries: IndexEntry[] | null = null;
  #isReplaced = false;

  constructor(table: IndexTable) {
    this.table = table;
    this.split = table.extension('link') !== null;
    this.sparse = table.extension('sdir') !== null;
    this.resolveUndo = table.extension('REUC');
  }

  get entries(): IndexEntry[] {
    return (this.#entries ??= this.table.entries());
  }

  set entries(entries: IndexEntry[]) {
    this.#entries = entries;
    this.#isReplaced = true;
  }

  /** Whether the entries are still those of the table. */
  get isAsRead(): boolean {
    return !this.#isReplaced;
  }

  /** Entries in conflict or with a flag. */
  get flagged(): IndexEntry[] {
    if (this.#isReplaced) return this.entries.filter(isFlagged);
    return this.table.flagged.map((number) => this.table.entry(number));
  }
}

const isFlagged = (entry: IndexEntry): boolean =>
  entry.stage > 0 || entry.intentToAdd || entry.skipWorktree || entry.assumeUnchanged;

/** Throws `corrupt` on anything that is not an index. */
export const parseIndex = (file: Buffer, format: ObjectFormat): TableIndex =>
  new TableIndex(new IndexTable(file, format));

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
