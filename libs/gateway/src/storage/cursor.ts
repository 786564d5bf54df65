import { HangarError } from '@hangar/contracts';

/** A place in a list, as one opaque word. */
export const encodeCursor = (...parts: string[]): string =>
  Buffer.from(JSON.stringify(parts)).toString('base64url');

/** Throws `invalid` for a word that was not made here. */
export function decodeCursor(cursor: string, count: number): string[] {
  const parts = readParts(cursor);
  const isWhole =
    Array.isArray(parts) &&
    parts.length === count &&
    parts.every((part): part is string => typeof part === 'string' && part.length <= 200);
  if (isWhole) return parts;
  throw new HangarError('invalid', 'The cursor is not one that a page gave.', {
    hint: 'Use next_cursor of the page before, as it is; without one the list starts anew.',
  });
}

function readParts(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    return null;
  }
}
