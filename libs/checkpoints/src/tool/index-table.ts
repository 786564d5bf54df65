import { ToolError } from './tool-error.ts';

/**
 * git's index as its bytes (gitformat-index, versions 2 to 4): in a large tree nearly every entry is
 * only compared with the disk, and to make an object of each would cost more than all comparisons.
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

const HEADER_BYTES = 12;
const STAT_BYTES = 40;
const MODE_AT = 24;
const FLAG_ASSUME = 0x8000;
const FLAG_EXTENDED = 0x4000;
const EXTENDED_SKIP = 0x4000;
const EXTENDED_INTENT = 0x2000;
const PATH_LENGTH_MAX = 0xfff;
const STAGE_SHIFT = 12;
/** Assume-unchanged, extended flags or a conflict stage. */
const FLAGS_NOT_PLAIN = 0xf000;

export const idBytesOf = (format: ObjectFormat): number => (format === 'sha1' ? 20 : 32);

export class IndexTable {
  /** Entries in the form of versions 2 and 3, then extensions. */
  readonly bytes: Buffer;
  readonly idBytes: number;
  /** Where each entry begins. */
  readonly offsets: Uint32Array;
  /** Where the entries end. */
  readonly end: number;
  /** Numbers of the entries in conflict or with a flag, in order. */
  readonly flagged: number[] = [];
  /** One character per byte: pieces of one long string cost less than a string for each path. */
  readonly #text: string;
  readonly #extensions = new Map<string, Buffer>();

  /** Throws `corrupt` on anything that is not an index. */
  constructor(file: Buffer, format: ObjectFormat) {
    this.idBytes = idBytesOf(format);
    if (file.length < HEADER_BYTES + this.idBytes || file.toString('latin1', 0, 4) !== 'DIRC') {
      throw new ToolError('corrupt', 'the index is not readable: bad signature');
    }
    const version = file.readUInt32BE(4);
    if (version < 2 || version > 4) {
      throw new ToolError('unsupported', `index version ${version} is not known`);
    }
    try {
      this.bytes = version === 4 ? expandPaths(file, this.idBytes) : file;
      this.offsets = new Uint32Array(this.bytes.readUInt32BE(8));
      this.end = this.#findEntries();
      this.#text = this.bytes.toString('latin1', 0, this.end);
      this.#findExtensions();
    } catch (error) {
      throw new ToolError('corrupt', 'the index is not readable: it ends too early', error);
    }
  }

  get count(): number {
    return this.offsets.length;
  }

  #findEntries(): number {
    const { bytes, offsets, idBytes } = this;
    let at = HEADER_BYTES;
    for (let number = 0; number < offsets.length; number++) {
      offsets[number] = at;
      // Cheaper than readUInt16BE, and past the end as wrong as that: undefined is 0 here.
      const flags =
        (bytes[at + STAT_BYTES + idBytes]! << 8) | bytes[at + STAT_BYTES + idBytes + 1]!;
      if ((flags & FLAGS_NOT_PLAIN) !== 0) this.flagged.push(number);
      const isShort = (flags & FLAG_EXTENDED) === 0 && (flags & PATH_LENGTH_MAX) < PATH_LENGTH_MAX;
      const end = isShort
        ? at + STAT_BYTES + idBytes + 2 + (flags & PATH_LENGTH_MAX)
        : pathEnd(bytes, at, idBytes);
      at += (end - at + 8) & ~7;
      if (at > bytes.length) throw new RangeError('an entry without an end');
    }
    if (at > bytes.length - idBytes) throw new RangeError('entries without an end');
    return at;
  }

  #findExtensions(): void {
    const { bytes } = this;
    const end = bytes.length - this.idBytes;
    for (let at = this.end; at + 8 <= end;) {
      const size = bytes.readUInt32BE(at + 4);
      this.#extensions.set(
        bytes.toString('latin1', at, at + 4),
        bytes.subarray(at + 8, at + 8 + size),
      );
      at += 8 + size;
    }
  }

  /** The body of an extension, or null. */
  extension(name: string): Buffer | null {
    return this.#extensions.get(name) ?? null;
  }

  path(number: number): string {
    const at = this.offsets[number]!;
    const start = pathStart(this.bytes, at, this.idBytes);
    return this.#text.slice(start, pathEnd(this.bytes, at, this.idBytes));
  }

  mode(number: number): number {
    return this.bytes.readUInt32BE(this.offsets[number]! + MODE_AT);
  }

  id(number: number): string {
    const at = this.offsets[number]! + STAT_BYTES;
    return this.bytes.toString('hex', at, at + this.idBytes);
  }

  /** When the file was written, as git caches it: seconds and nanoseconds. */
  modifiedSeconds(number: number): number {
    return this.bytes.readUInt32BE(this.offsets[number]! + 8);
  }

  modifiedNanos(number: number): number {
    return this.bytes.readUInt32BE(this.offsets[number]! + 12);
  }

  stat(number: number): CachedStat {
    return readStat(this.bytes, this.offsets[number]!);
  }

  entry(number: number): IndexEntry {
    const { bytes, idBytes } = this;
    const at = this.offsets[number]!;
    const flags = bytes.readUInt16BE(at + STAT_BYTES + idBytes);
    const extended = flags & FLAG_EXTENDED ? bytes.readUInt16BE(at + STAT_BYTES + idBytes + 2) : 0;
    return {
      path: this.path(number),
      mode: this.mode(number),
      id: this.id(number),
      stage: (flags >> STAGE_SHIFT) & 3,
      assumeUnchanged: (flags & FLAG_ASSUME) !== 0,
      skipWorktree: (extended & EXTENDED_SKIP) !== 0,
      intentToAdd: (extended & EXTENDED_INTENT) !== 0,
      stat: readStat(bytes, at),
    };
  }

  #withoutStat: Uint8Array | undefined;

  /** The entries' bytes with what git caches of the disk left out: modes, ids, flags and paths. */
  withoutStat(): Uint8Array {
    return (this.#withoutStat ??= this.#clearStat());
  }

  #clearStat(): Uint8Array {
    const copy = new Uint8Array(this.bytes.subarray(HEADER_BYTES, this.end));
    // Entries are aligned to eight bytes.
    const words = new Uint32Array(copy.buffer, 0, copy.length >> 2);
    for (const offset of this.offsets) {
      const first = (offset - HEADER_BYTES) >> 2;
      for (let word = 0; word < STAT_BYTES >> 2; word++) {
        if (word !== MODE_AT >> 2) words[first + word] = 0;
      }
    }
    return copy;
  }

  /** Whether both have the same paths. */
  isLike(other: IndexTable): boolean {
    if (other === this) return true;
    if (other.count !== this.count) return false;
    // Mostly nothing but what git caches has changed.
    if (Buffer.compare(this.withoutStat(), other.withoutStat()) === 0) return true;
    for (let number = 0; number < this.count; number++) {
      if (this.path(number) !== other.path(number)) return false;
    }
    return true;
  }

  /** Whether an entry is the same in another table, with everything that git caches of its file. */
  isSame(number: number, other: IndexTable, otherNumber: number): boolean {
    const at = this.offsets[number]!;
    const otherAt = other.offsets[otherNumber];
    if (otherAt === undefined) return false;
    const end = this.offsets[number + 1] ?? this.end;
    const otherEnd = other.offsets[otherNumber + 1] ?? other.end;
    return this.bytes.compare(other.bytes, otherAt, otherEnd, at, end) === 0;
  }

  entries(): IndexEntry[] {
    return Array.from(this.offsets, (_, number) => this.entry(number));
  }

  /** The number of the first entry whose path is not before this one. */
  lowerBound(path: string, from = 0): number {
    let low = from;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.path(middle) < path) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Paths with this last component. */
  pathsNamed(name: string): string[] {
    const paths = new Set<string>();
    for (let at = this.bytes.indexOf(name); at >= 0 && at < this.end;) {
      const path = this.path(entryAt(this.offsets, at));
      if (path === name || path.endsWith(`/${name}`)) paths.add(path);
      at = this.bytes.indexOf(name, at + 1);
    }
    return [...paths];
  }

  /** -1 where there is none; of a path in conflict the first. */
  find(path: string): number {
    const number = this.lowerBound(path);
    return number < this.count && this.path(number) === path ? number : -1;
  }
}

/** The number of the entry that holds this byte. */
function entryAt(offsets: Uint32Array, at: number): number {
  let low = 0;
  let high = offsets.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (offsets[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function pathStart(bytes: Buffer, at: number, idBytes: number): number {
  const flagsAt = at + STAT_BYTES + idBytes;
  // The first of the two bytes of flags is enough to tell.
  return flagsAt + ((bytes[flagsAt]! & (FLAG_EXTENDED >> 8)) === 0 ? 2 : 4);
}

function pathEnd(bytes: Buffer, at: number, idBytes: number): number {
  const start = pathStart(bytes, at, idBytes);
  const flagsAt = at + STAT_BYTES + idBytes;
  const length = ((bytes[flagsAt]! << 8) | bytes[flagsAt + 1]!) & PATH_LENGTH_MAX;
  if (length < PATH_LENGTH_MAX) return start + length;
  const end = bytes.indexOf(0, start + length);
  if (end < 0) throw new RangeError('a path without an end');
  return end;
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

/** Version 4 names paths by what they share with the one before: the same with whole paths. */
function expandPaths(file: Buffer, idBytes: number): Buffer {
  const count = file.readUInt32BE(8);
  const header = Buffer.from(file.subarray(0, HEADER_BYTES));
  header.writeUInt32BE(3, 4);
  const pieces: Buffer[] = [header];
  let position = HEADER_BYTES;
  let path: Buffer = Buffer.alloc(0);
  for (let number = 0; number < count; number++) {
    const start = position;
    position = pathStart(file, start, idBytes);
    const strip = readVariable(file, position);
    const end = file.indexOf(0, strip.next);
    if (end < 0) throw new RangeError('a path without an end');
    path = Buffer.concat([
      path.subarray(0, path.length - strip.value),
      file.subarray(strip.next, end),
    ]);
    const head = file.subarray(start, position);
    const padding = 8 - ((head.length + path.length) % 8);
    pieces.push(head, path, Buffer.alloc(padding));
    position = end + 1;
  }
  return Buffer.concat([...pieces, file.subarray(position)]);
}

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
