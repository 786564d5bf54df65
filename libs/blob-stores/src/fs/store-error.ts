import { HangarError } from '@hangar/contracts';

/** Told by its shape: an error of another realm (a vm context) is no `instanceof Error`. */
export function errnoOf(error: unknown): string | undefined {
  const code = typeof error === 'object' && error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** ENOTDIR: a part of the way is a blob, so nothing lies under it. */
export const isAbsent = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR'].includes(errnoOf(error) ?? '');

/** What a file system says, as what it means for the person who runs hangar. */
export function storeError(error: unknown, doing: string): HangarError {
  if (error instanceof HangarError) return error;
  const errno = errnoOf(error) ?? 'unknown';
  const message = `The blob store could not ${doing} (${errno}).`;
  switch (errno) {
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return new HangarError('exhausted', message, {
        hint: 'The disk or its quota is full. Free space, or prune checkpoints, then try again.',
        cause: error,
      });
    case 'ENOTDIR':
    case 'EEXIST':
    case 'EISDIR':
      return new HangarError('invalid', message, {
        hint: 'A key cannot be the folder of another key in a directory store.',
        cause: error,
      });
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new HangarError('unavailable', message, {
        hint: 'hangar needs to read and write the directory named by HANGAR_BLOB_STORE.',
        cause: error,
      });
    default:
      return new HangarError('unavailable', message, {
        hint: 'Look at the disk under HANGAR_BLOB_STORE; the call can be made again.',
        cause: error,
      });
  }
}
