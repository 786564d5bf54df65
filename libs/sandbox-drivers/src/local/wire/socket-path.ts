import { closeSync, openSync } from 'node:fs';

/** A Unix socket's path has at most 107 bytes; the kernel cuts or refuses a longer one. */
const SOCKET_PATH_BYTES_MAX = 107;
/** Room for the socket's own name after the directory. */
const SOCKET_NAME_BYTES_MAX = 8;

/**
 * A short name for a directory of sockets. A long one is reached through an open descriptor,
 * so the name is good until `release`.
 */
export const shortenSocketDirectory = (
  directory: string,
): { directory: string; release: () => void } => {
  const bytes = Buffer.byteLength(directory) + SOCKET_NAME_BYTES_MAX;
  if (bytes <= SOCKET_PATH_BYTES_MAX || process.platform !== 'linux') {
    return { directory, release: () => undefined };
  }
  const fd = openSync(directory, 'r');
  return { directory: `/proc/self/fd/${fd}`, release: () => closeSync(fd) };
};
