import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HangarError } from '@hangar/contracts';
import { errorCode } from './error-code.ts';

/** Host uids of sandboxes, when hangar runs as root: one each, so that none can touch another. */
export const UID_FIRST = 20_000;
/** Sandboxes that can exist at once on one machine. */
const SLOTS_MAX = 4096;

const directoryOf = (stateDirectory: string): string => join(stateDirectory, 'uids');

/** Uids of running processes: another hangar on this machine may have its own state directory. */
const uidsInUse = async (): Promise<Set<number>> => {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    names.map((name) =>
      stat(`/proc/${name}`).then(
        ({ uid }) => uid,
        () => 0,
      ),
    ),
  );
  return new Set(found);
};

/** Takes a free uid for the sandbox; the file that reserves it names the sandbox. */
export const reserveUid = async (stateDirectory: string, id: string): Promise<number> => {
  const directory = directoryOf(stateDirectory);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const used = await uidsInUse();
  for (let uid = UID_FIRST; uid < UID_FIRST + SLOTS_MAX; uid++) {
    if (used.has(uid)) continue;
    try {
      await writeFile(join(directory, String(uid)), id, { flag: 'wx', mode: 0o600 });
      return uid;
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }
  throw new HangarError('exhausted', `All ${SLOTS_MAX} sandbox users of this machine are taken.`);
};

/** Gives back whatever the sandbox had reserved. */
export const releaseUids = async (stateDirectory: string, id: string): Promise<void> => {
  const directory = directoryOf(stateDirectory);
  for (const name of await readdir(directory).catch((): string[] => [])) {
    const owner = await readFile(join(directory, name), 'utf8').catch(() => '');
    if (owner === id) await rm(join(directory, name), { force: true });
  }
};
