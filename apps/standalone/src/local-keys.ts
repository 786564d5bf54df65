import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { HangarError } from '@hangar/contracts';

const secretSchema = z.string().min(16);

const keysSchema = z.object({
  postgresPassword: secretSchema,
  natsPassword: secretSchema,
  serviceToken: secretSchema,
  vaultKey: z.base64().min(44),
  adminToken: secretSchema,
});

/** What one machine makes for itself at the first start and keeps, readable by its user alone. */
export type LocalKeys = z.infer<typeof keysSchema>;

const FILE = 'keys.json';
/** The admin token by itself, for the CLI and for people. */
export const TOKEN_FILE = 'token';

const secret = (): string => randomBytes(24).toString('base64url');

/** Reads the keys, or makes them: whole or not at all, also when killed in between. */
export async function loadKeys(directory: string, adminToken: string | null): Promise<LocalKeys> {
  await mkdir(directory, { recursive: true });
  const file = join(directory, FILE);
  if (!existsSync(file) && existsSync(join(directory, 'postgres', 'data')))
    throw new HangarError('invalid', `${file} is missing, but ${directory} holds data`, {
      hint: 'New keys would not open it: restore the file from a copy, or use another HANGAR_STATE.',
    });
  const keys = existsSync(file) ? await readKeys(file) : newKeys();
  // Also when they were there: their mode is what it has to be.
  await writeWhole(file, JSON.stringify(keys, null, 2));
  const current = { ...keys, adminToken: adminToken ?? keys.adminToken };
  await writeWhole(join(directory, TOKEN_FILE), `${current.adminToken}\n`);
  return current;
}

const newKeys = (): LocalKeys => ({
  postgresPassword: secret(),
  natsPassword: secret(),
  serviceToken: secret(),
  vaultKey: randomBytes(32).toString('base64'),
  adminToken: `hgr_${secret()}`,
});

async function readKeys(file: string): Promise<LocalKeys> {
  try {
    return keysSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (cause) {
    throw new HangarError('invalid', `${file} cannot be read`, {
      hint: 'Without it checkpoints and secrets cannot be opened: restore it from a copy.',
      cause,
    });
  }
}

async function writeWhole(file: string, text: string): Promise<void> {
  await removeLeftovers(file);
  const temporary = `${file}.${process.pid}`;
  const handle = await open(temporary, 'wx', 0o600);
  try {
    await handle.chmod(0o600);
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  await syncDirectory(dirname(file));
}

/** Of starts that were killed in between: they hold the same secrets. */
async function removeLeftovers(file: string): Promise<void> {
  const prefix = `${basename(file)}.`;
  for (const name of await readdir(dirname(file)))
    if (name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
      await rm(join(dirname(file), name), { force: true });
}

/** The new name is on disk before anything is made that only these keys open. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  await handle.sync();
  await handle.close();
}
