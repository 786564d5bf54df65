import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { HangarError, MESSAGE_BYTES_MAX } from '@hangar/contracts';
import { refused } from '../failure.ts';
import type { Terminal } from '../terminal.ts';

/** The words of a message; `-`, or none of them in a pipe, reads it from stdin. */
export async function readMessage(terminal: Terminal, words: string[]): Promise<string | null> {
  const typed = words.join(' ');
  const fromStdin = typed === '-' || (typed === '' && !terminal.stdin.isTty);
  if (!fromStdin) return typed === '' ? null : typed;
  const text = utf8(await terminal.stdin.readAll(MESSAGE_BYTES_MAX), 'The message').trim();
  return text === '' ? null : text;
}

/** A file's text; `-` is stdin. */
export async function readTextFile(
  terminal: Terminal,
  path: string,
  bytesMax: number,
): Promise<string> {
  if (path === '-') return utf8(await terminal.stdin.readAll(bytesMax), 'The input');
  const bytes = await readFile(resolve(terminal.cwd, path)).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw refused(`${path} cannot be read: ${why}`, 'Name a file, or - for stdin.');
  });
  if (bytes.length > bytesMax) {
    throw refused(`${path} is longer than ${bytesMax} bytes.`, 'Make it shorter.');
  }
  return utf8(bytes, path);
}

export function utf8(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new HangarError('invalid', `${name} is not UTF-8 text.`, {
      hint: 'Convert it to UTF-8 first.',
      cause,
    });
  }
}
