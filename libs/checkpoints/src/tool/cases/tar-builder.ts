import { gzipSync } from 'node:zlib';

/** Builds tar archives byte by byte, so that they can be as wrong as an attacker likes. */
export interface TarItem {
  name: string;
  /** '0' file, '1' hard link, '2' link, '3' device, '5' directory, 'x' pax, 'L' long name. */
  type?: string;
  content?: string | Buffer;
  link?: string;
  mode?: number;
  /** A size in the header that is not the content's. */
  size?: number;
  prefix?: string;
  damage?: boolean;
}

const BLOCK = 512;

function header(item: TarItem, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(item.name.slice(0, 100), 0, 'latin1');
  block.write(`${(item.mode ?? 0o644).toString(8).padStart(7, '0')}\0`, 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  if (size < 8 ** 11) block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  else {
    block.writeUInt8(0x80, 124);
    block.writeBigUInt64BE(BigInt(size), 128);
  }
  block.write('14523770000\0', 136);
  block.write('        ', 148);
  block.write(item.type ?? '0', 156);
  block.write((item.link ?? '').slice(0, 100), 157, 'latin1');
  block.write('ustar\0' + '00', 257);
  block.write(item.prefix ?? '', 345, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, item.damage ? 1 : 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

const pad = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)]);

export function tarOf(items: readonly TarItem[], options: { withoutEnd?: boolean } = {}): Buffer {
  const chunks = items.flatMap((item) => {
    const content = Buffer.from(item.content ?? '');
    return [header(item, item.size ?? content.length), pad(content)];
  });
  return Buffer.concat([...chunks, Buffer.alloc(options.withoutEnd ? 0 : 2 * BLOCK)]);
}

export const tgzOf = (items: readonly TarItem[]): Buffer => gzipSync(tarOf(items));

/** One pax record with its own length in front. */
export function paxRecord(key: string, value: string): string {
  const body = ` ${key}=${value}\n`;
  let length = body.length + 1;
  while (`${length}${body}`.length !== length) length = `${length}${body}`.length;
  return `${length}${body}`;
}
