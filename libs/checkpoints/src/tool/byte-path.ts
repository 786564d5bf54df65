/**
 * File names are bytes. Inside the tool a name is a *byte string*: one character per byte (Latin-1),
 * which compares and sorts like the bytes do and survives JSON. Only the system calls see buffers.
 */

const NOT_ASCII = /[\u0080-\uffff]/;
const ASCII = { test: (text: string): boolean => !NOT_ASCII.test(text) };

/** What the fs functions take: the string itself when it is ASCII (faster), else its bytes. */
export const toFs = (path: string): string | Buffer =>
  ASCII.test(path) ? path : Buffer.from(path, 'latin1');

export const toBytes = (path: string): Buffer => Buffer.from(path, 'latin1');

/** A JavaScript string (a request's path) as a byte string. */
export const fromText = (text: string): string =>
  ASCII.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1');

const encodeByte = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

/** A byte string for people and JSON: UTF-8 as it is, anything else percent-encoded. */
export function toReport(path: string): string {
  const escaped = path.replaceAll('%', '%25');
  if (ASCII.test(escaped)) return escaped;
  const text = Buffer.from(escaped, 'latin1').toString('utf8');
  if (!text.includes('\ufffd')) return text;
  return escaped.replace(/[\x80-\xff]/g, encodeByte);
}

/** Whether the bytes can be given as an argument of a process (Node encodes arguments as UTF-8). */
export const isUtf8 = (path: string): boolean =>
  ASCII.test(path) || !Buffer.from(path, 'latin1').toString('utf8').includes('\ufffd');

/** A byte string as an argument of a process; only for names that `isUtf8` accepts. */
export const toText = (path: string): string =>
  ASCII.test(path) ? path : Buffer.from(path, 'latin1').toString('utf8');

export const joinPath = (directory: string, name: string): string =>
  directory === '' ? name : `${directory}/${name}`;

export const parentOf = (path: string): string => {
  const slash = path.lastIndexOf('/');
  return slash < 0 ? '' : path.slice(0, slash);
};

/**
 * `parentOf` for many paths in order: neighbours mostly share theirs, which is then the very same
 * string, found in sets and maps without being hashed again.
 */
export function parentsInOrder(): (path: string) => string {
  let last = '';
  return (path) => {
    const slash = path.lastIndexOf('/');
    if (slash < 0) return '';
    if (slash !== last.length || !path.startsWith(last)) last = path.slice(0, slash);
    return last;
  };
}

/** Splits a NUL-terminated list as git prints it with -z. */
export function splitNul(output: Buffer): string[] {
  if (output.length === 0) return [];
  const names = output.toString('latin1').split('\0');
  if (names.at(-1) === '') names.pop();
  return names;
}

export const compareBytes = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
