import { Readable } from 'node:stream';
import type { CheckpointStore } from './checkpoint.store.ts';

const BLOCK_BYTES = 512;

/**
 * All parts of a checkpoint, opened, as one tar: what a person needs to restore it by hand with
 * git and tar (docs/formats/checkpoint.md). null when there is no such checkpoint.
 */
export async function exportCheckpoint(
  store: CheckpointStore,
  sessionId: string,
  checkpointId: string,
): Promise<Readable | null> {
  const manifest = await store.manifest(sessionId, checkpointId);
  if (!manifest) return null;
  const bases = await store.bases(sessionId);
  async function* blocks(): AsyncGenerator<Buffer> {
    const all = [
      ...manifest!.parts.map((part) => ({ part, from: manifest!, as: part.name })),
      ...bases.flatMap((base) =>
        base.parts.map((part) => ({ part, from: base, as: `base-${base.checkpoint_id}.pack` })),
      ),
    ];
    for (const { part, from, as } of all) {
      yield header(`${checkpointId}/${as}`, part.size);
      for await (const chunk of await store.open(from, part.name)) yield chunk as Buffer;
      yield Buffer.alloc((BLOCK_BYTES - (part.size % BLOCK_BYTES)) % BLOCK_BYTES);
    }
    yield Buffer.alloc(2 * BLOCK_BYTES);
  }
  return Readable.from(blocks(), { objectMode: false });
}

/** Larger sizes are written in base 256, as GNU tar does and every tar reads. */
const OCTAL_SIZE_MAX = 8 ** 11 - 1;

/** A ustar header of a regular file; names are short. */
function header(name: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, width: number): string =>
    `${value.toString(8).padStart(width - 1, '0')}\0`;
  block.write(name, 0, 100, 'utf8');
  block.write(octal(0o600, 8), 100);
  block.write(octal(0, 8), 108);
  block.write(octal(0, 8), 116);
  if (size <= OCTAL_SIZE_MAX) block.write(octal(size, 12), 124);
  else {
    block[124] = 0x80;
    block.writeBigUInt64BE(BigInt(size), 128);
  }
  block.write(octal(0, 12), 136);
  block.write(' '.repeat(8), 148);
  block.write('0', 156);
  block.write('ustar\0' + '00', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}
