import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';
import { joinPath, toFs } from './byte-path.ts';
import type { ObjectFormat } from './index-table.ts';

/**
 * New objects of the shadow, in one pack instead of a directory and a file for each (gitformat-pack,
 * version 2, whole objects without deltas). git reads the pack; a small one is the bundle as well.
 */

export type ObjectType = 'commit' | 'tree' | 'blob';

const TYPE_NUMBERS: Record<ObjectType, number> = { commit: 1, tree: 2, blob: 3 };
/** More than this is not held in memory: it becomes a pack at once. */
const WAITING_BYTES_MAX = 32 * 1024 * 1024;
const COMPRESSION_LEVEL = 1;

interface Packed {
  id: string;
  bytes: Buffer;
}

export function objectId(format: ObjectFormat, type: string, body: Buffer): string {
  return createHash(format).update(`${type} ${body.length}\0`, 'latin1').update(body).digest('hex');
}

export class ObjectPack {
  readonly #directory: string;
  readonly #format: ObjectFormat;
  readonly #sizes = new Map<string, number>();
  #waiting: Packed[] = [];
  #waitingBytes = 0;
  #packs: Buffer[] = [];

  constructor(objectsDirectory: string, format: ObjectFormat) {
    this.#directory = joinPath(objectsDirectory, 'pack');
    this.#format = format;
  }

  /** The id of the object, which git sees from its next start on. */
  add(type: ObjectType, body: Buffer, id = objectId(this.#format, type, body)): string {
    if (this.#sizes.has(id)) return id;
    const content = deflateSync(body, { level: COMPRESSION_LEVEL });
    const bytes = Buffer.concat([objectHeader(type, body.length), content]);
    this.#sizes.set(id, bytes.length);
    this.#waiting.push({ id, bytes });
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > WAITING_BYTES_MAX) this.flush();
    return id;
  }

  has(id: string): boolean {
    return this.#sizes.has(id);
  }

  /** Compressed, in bytes. */
  sizeOf(id: string): number {
    return this.#sizes.get(id) ?? 0;
  }

  /** All objects in one pack, where they are not more than that. */
  whole(bytesMax: number): Buffer | null {
    this.flush();
    const [only] = this.#packs;
    return this.#packs.length === 1 && only && only.length <= bytesMax ? only : null;
  }

  /** Makes what waits visible to git. */
  flush(): void {
    if (this.#waiting.length === 0) return;
    const header = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1');
    header.writeUInt32BE(this.#waiting.length, 8);
    const content = Buffer.concat([header, ...this.#waiting.map(({ bytes }) => bytes)]);
    const checksum = createHash(this.#format).update(content).digest();
    const pack = Buffer.concat([content, checksum]);
    const path = joinPath(this.#directory, `pack-${checksum.toString('hex')}`);
    mkdirSync(toFs(this.#directory), { recursive: true });
    writeFileSync(toFs(`${path}.pack`), pack);
    // git looks for this one.
    writeFileSync(toFs(`${path}.idx`), this.#index(checksum));
    this.#packs = this.#packs.length === 0 ? [pack] : [pack, Buffer.alloc(0)];
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  /** Version 2: counts by first byte, ids, checksums, places; all in the order of the ids. */
  #index(packChecksum: Buffer): Buffer {
    let place = 12;
    const entries = this.#waiting.map(({ id, bytes }) => {
      const entry = { id, check: crc32(bytes), place };
      place += bytes.length;
      return entry;
    });
    entries.sort((a, b) => (a.id < b.id ? -1 : 1));
    const counts = Buffer.alloc(256 * 4);
    const checks = Buffer.alloc(entries.length * 4);
    const places = Buffer.alloc(entries.length * 4);
    let at = 0;
    for (let first = 0; first < 256; first++) {
      for (; at < entries.length; at++) {
        const { id, check, place: offset } = entries[at]!;
        if (Number.parseInt(id.slice(0, 2), 16) !== first) break;
        checks.writeUInt32BE(check, at * 4);
        places.writeUInt32BE(offset, at * 4);
      }
      counts.writeUInt32BE(at, first * 4);
    }
    const content = Buffer.concat([
      Buffer.from('\xfftOc\0\0\0\x02', 'latin1'),
      counts,
      ...entries.map(({ id }) => Buffer.from(id, 'hex')),
      checks,
      places,
      packChecksum,
    ]);
    return Buffer.concat([content, createHash(this.#format).update(content).digest()]);
  }
}

/** Type and size: four bits, then seven at a time. */
function objectHeader(type: ObjectType, size: number): Buffer {
  const bytes: number[] = [];
  let byte = (TYPE_NUMBERS[type] << 4) | (size & 15);
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.push(byte | 0x80);
    byte = rest & 0x7f;
  }
  return Buffer.from([...bytes, byte]);
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb8_8320 : value >>> 1;
  return value;
});

function crc32(bytes: Buffer): number {
  let value = 0xffff_ffff;
  for (const byte of bytes) value = CRC_TABLE[(value ^ byte) & 0xff]! ^ (value >>> 8);
  return (value ^ 0xffff_ffff) >>> 0;
}
