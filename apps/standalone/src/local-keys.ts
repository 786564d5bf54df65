import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, open, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HangarError } from '@hangar/contracts';

/** What one machine makes for itself at the first start and keeps, readable by its user alone. */
export interface LocalKeys {
  postgresPassword: string;
  natsPassword: string;
  serviceToken: string;
  vaultKey: string;
  adminToken: string;
}

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
    return JSON.parse(await readFile(file, 'utf8')) as LocalKeys;
  } catch (cause) {
    throw new HangarError('invalid', `${file} cannot be read`, {
      hint: 'Without it checkpoints and secrets cannot be opened: restore it from a copy.',
      cause,
    });
  }
}

async function writeWhole(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}`;
  await writeFile(temporary, text, { mode: 0o600 });
  const handle = await open(temporary, 'r');
  await handle.sync();
  await handle.close();
  await rename(temporary, file);
  await chmod(file, 0o600);
}
