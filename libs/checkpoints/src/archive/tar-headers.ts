import { ArchiveRefused } from './archive-refused.ts';

/** Reading tar headers, nothing else: no entry is ever unpacked here. Names are byte strings. */

export const BLOCK_BYTES = 512;
/** Extended headers hold names and attributes; GNU tar writes a few KB at most. */
export const EXTENDED_BYTES_MAX = 1024 * 1024;

export type TarKind = 'file' | 'directory' | 'link' | 'hard_link';

export interface TarEntry {
  /** Normalised: no leading or trailing slash, no `.` component. */
  path: string;
  kind: TarKind;
  mode: number;
  /** Bytes stored in the archive for it. */
  bytes: number;
  /** Length of the unpacked file; more than `bytes` when it is sparse. */
  length: number;
  /** Target of a link or hard link. */
  target: string;
}

export interface RawHeader {
  name: string;
  link: string;
  mode: number;
  size: number;
  type: string;
}

const text = (block: Buffer, from: number, to: number): string => {
  const end = block.indexOf(0, from);
  return block.toString('latin1', from, end < 0 || end > to ? to : end);
};

/** Octal, or base-256 when the first bit is set. */
function number(block: Buffer, from: number, bytes: number): number {
  const first = block[from]!;
  if (first & 0x80) {
    let value = BigInt(first & 0x7f);
    for (let at = from + 1; at < from + bytes; at++) value = value * 256n + BigInt(block[at]!);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw new ArchiveRefused('refused', 'a size in a tar header is impossible');
    }
    return Number(value);
  }
  const digits = block
    .toString('latin1', from, from + bytes)
    .replace(/[\0 ]+$/, '')
    .trim();
  if (digits === '') return 0;
  if (!/^[0-7]+$/.test(digits)) throw new ArchiveRefused('corrupt', 'a tar header is damaged');
  return Number.parseInt(digits, 8);
}

/** Null for a block of zeros. */
export function parseHeader(block: Buffer): RawHeader | null {
  if (block.every((byte) => byte === 0)) return null;
  let sum = 0;
  for (let at = 0; at < BLOCK_BYTES; at++) sum += at >= 148 && at < 156 ? 32 : block[at]!;
  if (sum !== number(block, 148, 8)) {
    throw new ArchiveRefused('corrupt', 'a tar header has a wrong checksum');
  }
  let name = text(block, 0, 100);
  const posix = block.toString('latin1', 257, 263) === 'ustar\0';
  const prefix = posix ? text(block, 345, 500) : '';
  if (prefix !== '') name = `${prefix}/${name}`;
  return {
    name,
    link: text(block, 157, 257),
    mode: number(block, 100, 8) & 0o7777,
    size: number(block, 124, 12),
    type: String.fromCharCode(block[156]!),
  };
}

/** The records of a pax header: `<length> <key>=<value>\n`. */
export function parsePax(body: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  let at = 0;
  while (at < body.length) {
    const space = body.indexOf(0x20, at);
    const length = Number(body.toString('latin1', at, space));
    const record = body.subarray(space + 1, at + length - 1);
    const equals = record.indexOf(0x3d);
    const sound = space > at && Number.isInteger(length) && length > 3 && equals > 0;
    if (!sound || at + length > body.length || body[at + length - 1] !== 0x0a) {
      throw new ArchiveRefused('corrupt', 'a pax header is damaged');
    }
    records.set(record.toString('latin1', 0, equals), record.toString('latin1', equals + 1));
    at += length;
  }
  return records;
}
