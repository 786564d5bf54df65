/** A program of this library that is written into a sandbox as it is. */
import { existsSync, readFileSync } from 'node:fs';

const texts = new Map<string, string>();

/** `path` is relative to `src`: beside this file (source), else in the source beside `dist`. */
export function shippedFile(path: string): string {
  const known = texts.get(path);
  if (known !== undefined) return known;
  const places = [`./${path}`, `../src/${path}`].map((place) => new URL(place, import.meta.url));
  const found = places.find((place) => existsSync(place));
  if (!found) throw new Error(`${path} is not beside the library`);
  const text = readFileSync(found, 'utf8');
  texts.set(path, text);
  return text;
}
