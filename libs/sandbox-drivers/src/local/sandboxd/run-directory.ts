import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProcessIdentity } from '../process-table.ts';
import type { ProcessEnd } from '../wire/protocol.ts';
import { errorCode } from '../error-code.ts';

/**
 * What a run leaves on the sandbox's own disk, so that it can be attached to again after the
 * driver or sandboxd was gone. Environment variables are not kept: secrets are among them.
 */
export interface RunDirectory {
  path: string;
  /** FIFO: stdin of the run. */
  input: string;
  /** FIFO: a line in it makes the holder of the input close it. */
  hold: string;
  out: string;
  err: string;
  /** Written by the wrapper: the exit code as the shell saw it. */
  code: string;
}

export interface RunEnd {
  exit: ProcessEnd;
  outBytes: number;
  errBytes: number;
}

export const runDirectory = (path: string): RunDirectory => ({
  path,
  input: join(path, 'in'),
  hold: join(path, 'hold'),
  out: join(path, 'out'),
  err: join(path, 'err'),
  code: join(path, 'code'),
});

/** False when the run is there already. */
export const makeRunDirectory = async (directory: RunDirectory): Promise<boolean> => {
  try {
    await mkdir(directory.path);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
  await writeFile(directory.out, '');
  await writeFile(directory.err, '');
  return true;
};

const writeJson = async (path: string, value: unknown): Promise<void> => {
  await writeFile(`${path}.tmp`, JSON.stringify(value));
  await rename(`${path}.tmp`, path);
};

const readJson = async (path: string): Promise<unknown> => {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as unknown;
  } catch {
    return null;
  }
};

/** The process is written last: a directory without one is a run that never started. */
export const writeIdentity = (directory: RunDirectory, identity: ProcessIdentity): Promise<void> =>
  writeJson(join(directory.path, 'process.json'), identity);

export const readIdentity = async (directory: RunDirectory): Promise<ProcessIdentity | null> =>
  (await readJson(join(directory.path, 'process.json'))) as ProcessIdentity | null;

export const writeEnd = (directory: RunDirectory, end: RunEnd): Promise<void> =>
  writeJson(join(directory.path, 'end.json'), end);

export const readEnd = async (directory: RunDirectory): Promise<RunEnd | null> =>
  (await readJson(join(directory.path, 'end.json'))) as RunEnd | null;
