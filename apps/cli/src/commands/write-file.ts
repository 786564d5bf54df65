import { open, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Output } from '../output/output.ts';
import { refused } from '../failure.ts';
import type { Terminal } from '../terminal.ts';

/** What the file will hold may be secret: nobody else may read it. */
const OWNER_ONLY = 0o600;

/**
 * Writes a stream to a file, or to stdout for `-`. The file has its name only when it is whole; one
 * that is already there is not overwritten. Returns the number of bytes.
 */
export async function writeStream(
  terminal: Terminal,
  output: Output,
  path: string,
  stream: ReadableStream<Uint8Array>,
): Promise<number> {
  if (path === '-') return output.bytes(stream);
  const target = resolve(terminal.cwd, path);
  const partial = `${target}.partial`;
  const file = await open(target, 'wx', OWNER_ONLY).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw refused(`${path} cannot be written: ${why}`, 'Name a file that does not exist yet.');
  });
  await file.close();
  let count = 0;
  try {
    const part = await open(partial, 'w', OWNER_ONLY);
    try {
      for await (const piece of stream) {
        await part.write(piece);
        count += piece.byteLength;
      }
    } finally {
      await part.close();
    }
    await rename(partial, target);
    return count;
  } catch (error) {
    await rm(partial, { force: true });
    await rm(target, { force: true });
    throw error;
  }
}
