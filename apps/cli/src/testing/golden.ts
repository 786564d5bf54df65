import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DIRECTORY = join(import.meta.dirname, '../testdata');

/**
 * The committed file that `text` is held to: a changed word is a reviewed change. With
 * HANGAR_GOLDEN=write it is written anew first.
 */
export function golden(name: string, text: string): string {
  const path = join(DIRECTORY, `${name}.golden`);
  if (process.env['HANGAR_GOLDEN'] === 'write') {
    mkdirSync(DIRECTORY, { recursive: true });
    writeFileSync(path, text);
  }
  return readFileSync(path, 'utf8');
}
