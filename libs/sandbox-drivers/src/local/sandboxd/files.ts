import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  type FileHandle,
} from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { FRAME_DATA_BYTES_MAX } from '../wire/frames.ts';
import { CHANNEL, type MuxStream } from '../wire/mux-stream.ts';
import { OperationError } from './operation-error.ts';
import { errorCode } from '../error-code.ts';

/** Depth to which a tree is made writable before it is removed; deeper ones are refused. */
const TREE_DEPTH_MAX = 200;

const isCode = (error: unknown, ...codes: string[]): boolean =>
  codes.includes(errorCode(error) ?? '');

const isAbsent = (error: unknown): boolean => isCode(error, 'ENOENT', 'ENOTDIR');

const checkPath = (path: string): void => {
  if (isAbsolute(path) && !path.includes('\0')) return;
  throw new OperationError('invalid', `${JSON.stringify(path)} is not an absolute path`);
};

/** Turns what the file system said into an error a person can use. */
const explain = (error: unknown, path: string): OperationError => {
  if (error instanceof OperationError) return error;
  if (isCode(error, 'ENOSPC', 'EDQUOT')) {
    return new OperationError('exhausted', `there is no room left for ${path}`);
  }
  if (isCode(error, 'EACCES', 'EPERM', 'EROFS', 'EISDIR', 'ENOTDIR', 'EEXIST', 'ELOOP', 'ENOENT')) {
    return new OperationError('invalid', `${path}: ${(error as Error).message}`);
  }
  return new OperationError('internal', `${path}: ${String(error)}`);
};

/** Temporary file in the same directory, hash of what is on disk, rename. */
export const servePut = async (stream: MuxStream, path: string, mode: number): Promise<void> => {
  checkPath(path);
  const temporary = join(dirname(path), `.hangar-${randomUUID()}`);
  try {
    await mkdir(dirname(path), { recursive: true });
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = await open(temporary, flags, 0o600);
    try {
      const written = await writeAll(file, stream);
      await file.sync();
      const sha256 = await hashOf(file, written);
      await file.chmod(mode & 0o7777);
      await rename(temporary, path);
      stream.finish({ size: written, sha256 });
    } finally {
      await file.close();
    }
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw explain(error, path);
  }
};

const writeAll = async (file: FileHandle, stream: MuxStream): Promise<number> => {
  let written = 0;
  for await (const chunk of stream.readable(CHANNEL.in)) {
    const bytes = chunk as Buffer;
    for (let offset = 0; offset < bytes.length;) {
      offset += (await file.write(bytes, offset, bytes.length - offset, written + offset))
        .bytesWritten;
    }
    written += bytes.length;
  }
  // A stream that was given up has no end: what came so far is not the file.
  if (stream.cancelled.aborted) throw new OperationError('unavailable', 'the upload was cut off');
  return written;
};

const hashOf = async (file: FileHandle, size: number): Promise<string> => {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(FRAME_DATA_BYTES_MAX * 4);
  let position = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    position += bytesRead;
  }
  if (position !== size)
    throw new OperationError('internal', 'the file changed while it was written');
  return hash.digest('hex');
};

/** Sends `{ size }` or `{ absent }`, then the bytes, then `{ sha256 }` of those bytes. */
export const serveGet = async (stream: MuxStream, path: string, from: number): Promise<void> => {
  checkPath(path);
  let file: FileHandle;
  try {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (isAbsent(error)) return stream.finish({ absent: true });
    throw explain(error, path);
  }
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new OperationError('invalid', `${path} is not a regular file`);
    stream.send({ size: found.size });
    const sha256 = await sendRange(file, stream, path, from, found.size);
    stream.end(CHANNEL.out);
    stream.finish({ sha256 });
  } finally {
    await file.close();
  }
};

const sendRange = async (
  file: FileHandle,
  stream: MuxStream,
  path: string,
  from: number,
  size: number,
): Promise<string> => {
  const hash = createHash('sha256');
  for (let position = from; position < size;) {
    const length = Math.min(FRAME_DATA_BYTES_MAX, size - position);
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
    if (bytesRead === 0) {
      throw new OperationError('conflict', `${path} became shorter while it was read`);
    }
    const bytes = buffer.subarray(0, bytesRead);
    hash.update(bytes);
    position += bytesRead;
    if (!(await stream.write(CHANNEL.out, bytes)) || stream.cancelled.aborted) {
      throw new OperationError('unavailable', 'the download was cut off');
    }
  }
  return hash.digest('hex');
};

export const serveStat = async (stream: MuxStream, path: string): Promise<void> => {
  checkPath(path);
  try {
    const found = await stat(path);
    const kind = found.isFile() ? 'file' : found.isDirectory() ? 'directory' : 'other';
    const mode = found.mode & 0o7777;
    stream.finish({ size: found.size, mode, kind, mtimeMs: found.mtimeMs });
  } catch (error) {
    if (!isAbsent(error)) throw explain(error, path);
    stream.finish({ absent: true });
  }
};

export const serveRemove = async (stream: MuxStream, path: string): Promise<void> => {
  checkPath(path);
  try {
    await rm(path, { recursive: true, force: true }).catch(async (error: unknown) => {
      if (!isCode(error, 'EACCES', 'EPERM', 'ENOTEMPTY')) throw error;
      await makeWritable(path, 0);
      await rm(path, { recursive: true, force: true });
    });
    stream.finish({});
  } catch (error) {
    throw explain(error, path);
  }
};

/** Go's module cache and others leave directories read-only; their owner may still remove them. */
const makeWritable = async (path: string, depth: number): Promise<void> => {
  if (depth > TREE_DEPTH_MAX) throw new OperationError('invalid', `${path} is nested too deeply`);
  if (!(await lstat(path)).isDirectory()) return;
  await chmod(path, 0o700).catch(() => undefined);
  for (const name of await readdir(path)) await makeWritable(join(path, name), depth + 1);
};
