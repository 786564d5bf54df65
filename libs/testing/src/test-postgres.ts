import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrateEventLog } from '@hangar/messaging/postgres';
import { startPostgres } from '@hangar/service-kit/embedded';
import pg from 'pg';

const TEMPLATE = 'hangar_template';

/** Addresses of the one Postgres of this process; files of one test worker share it. */
interface Shared {
  url: string;
  pid: number;
}

const directory = (): string => join(tmpdir(), `hangar-test-${process.pid}`);

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** Test files have separate module registries, so the shared server is remembered in a file. */
async function sharedPostgres(): Promise<Shared> {
  const note = join(directory(), 'stack.json');
  const text = await readFile(note, 'utf8').catch(() => undefined);
  const known = text === undefined ? undefined : (JSON.parse(text) as Shared);
  if (known && isAlive(known.pid)) return known;
  const server = await startPostgres({
    directory: directory(),
    port: 0,
    password: randomBytes(12).toString('hex'),
    settings: ['max_connections=200'],
    removeAfter: true,
    unref: true,
  });
  const shared = { url: server.url, pid: server.pid };
  await onDatabase(shared.url, (client) => client.query(`create database ${TEMPLATE}`));
  const pool = new pg.Pool({ connectionString: databaseUrl(shared.url, TEMPLATE), max: 1 });
  await migrateEventLog(pool);
  await pool.end();
  await writeFile(note, JSON.stringify(shared));
  return shared;
}

const databaseUrl = (url: string, name: string): string => {
  const parsed = new URL(url);
  parsed.pathname = `/${name}`;
  return parsed.href;
};

async function onDatabase(
  url: string,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

/** A database of its own with the event log's schema, copied from a template in about 50 ms. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const shared = await sharedPostgres();
  const name = `t_${randomBytes(6).toString('hex')}`;
  await onDatabase(shared.url, (client) =>
    client.query(`create database ${name} template ${TEMPLATE}`),
  );
  return {
    url: databaseUrl(shared.url, name),
    drop: () => onDatabase(shared.url, (client) => dropDatabase(client, name)),
  };
}

/** `object_in_use`: what a drop says when connections are still open. */
const IN_USE = '55006';

/**
 * `pool.end()` gives before its connections are gone, and `force` would fail the test file with
 * their errors. A plain drop waits up to five seconds for them; force is for those left open.
 */
async function dropDatabase(client: pg.Client, name: string): Promise<void> {
  try {
    await client.query(`drop database ${name}`);
  } catch (error) {
    if ((error as { code?: string }).code !== IN_USE) throw error;
    await client.query(`drop database ${name} with (force)`);
  }
}
