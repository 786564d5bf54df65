import { HangarError } from '@hangar/contracts';

/** S3 allows 1024 bytes; half of it leaves room for a bucket's own folder in front. */
export const BLOB_KEY_CHARACTERS_MAX = 512;
/** File systems allow 255 bytes a name; the rest is room for what a store appends. */
export const BLOB_SEGMENT_CHARACTERS_MAX = 200;

/** No leading dot: that shuts out `.` and `..`, and keeps dot names for the stores' own files. */
const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9._=-]*$/;

const HINT =
  'A key is names joined by "/", each of letters, digits, "_", "-", "." and "=", none starting ' +
  `with a dot or dash, at most ${BLOB_SEGMENT_CHARACTERS_MAX} characters a name and ` +
  `${BLOB_KEY_CHARACTERS_MAX} in all.`;

/**
 * Refuses a key that could mean another place than itself on some store.
 * Throws HangarError('invalid'); the key is shown cut and quoted, so odd bytes stay harmless.
 */
export function assertBlobKey(key: string): void {
  const fits = key.length > 0 && key.length <= BLOB_KEY_CHARACTERS_MAX;
  if (!fits || !key.split('/').every(isSegment)) throw notAKey('key', key);
}

/** A prefix is the beginning of a key: empty, whole names, or a name cut anywhere but before it. */
export function assertBlobPrefix(prefix: string): void {
  if (prefix === '') return;
  const names = prefix.split('/');
  if (names.at(-1) === '') names.pop();
  const fits = prefix.length <= BLOB_KEY_CHARACTERS_MAX && names.length > 0;
  if (!fits || !names.every(isSegment)) throw notAKey('prefix', prefix);
}

function isSegment(name: string): boolean {
  return name.length <= BLOB_SEGMENT_CHARACTERS_MAX && SEGMENT.test(name);
}

function notAKey(what: string, text: string): HangarError {
  const shown = JSON.stringify(text.slice(0, 80));
  return new HangarError('invalid', `${shown} is not a blob ${what}.`, { hint: HINT });
}
