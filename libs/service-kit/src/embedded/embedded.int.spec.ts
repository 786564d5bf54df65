import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@hangar/testing';
import { connect } from '@nats-io/transport-node';
import pg from 'pg';
import { startNats } from './nats.ts';
import { startPostgres } from './postgres.ts';

let directory = '';
const running: { stop(): Promise<void> }[] = [];
const savedNats = process.env['NATS_SERVER'];
// One directory for all, since making a cluster takes a second on a quiet machine and more else.
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hangar-embedded-'));
});
afterEach(async () => {
  if (savedNats === undefined) delete process.env['NATS_SERVER'];
  else process.env['NATS_SERVER'] = savedNats;
  await Promise.all(running.splice(0).map((server) => server.stop()));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const PASSWORD = 'sec"ret /é';
const postgres = async () => {
  const server = await startPostgres({ directory, port: 0, password: PASSWORD });
  running.push(server);
  return server;
};
const natsDirectory = (): string => join(directory, 'nats');
const nats = async (password = 'p"a\\ss') => {
  const server = await startNats({ directory: natsDirectory(), port: 0, user: 'hangar', password });
  running.push(server);
  return server;
};

const query = async (url: string, sql: string): Promise<unknown[]> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe('embedded Postgres', () => {
  it('asks for the password, listens on loopback only, and syncs to disk', async () => {
    const { url, port } = await postgres();
    const rows = await query(
      url,
      `select current_setting('listen_addresses') as hosts, current_setting('fsync') as fsync,
        current_setting('unix_socket_directories') as sockets,
        current_setting('synchronous_commit') as sync, current_database() as database`,
    );
    expect(rows).toEqual([
      { hosts: '127.0.0.1', fsync: 'on', sockets: '', sync: 'on', database: 'hangar' },
    ]);
    const wrong = `postgres://hangar:wrong@127.0.0.1:${port}/hangar`;
    await expect(query(wrong, 'select 1')).rejects.toThrow('password authentication failed');
    const access = await readFile(join(directory, 'data/pg_hba.conf'), 'utf8');
    expect(access.split('\n').filter((line) => /^\w.*trust/.test(line))).toEqual([]);
    expect(existsSync(join(directory, 'initdb-password'))).toBe(false);
  });

  it('keeps its data and its port over a restart', async () => {
    const first = await postgres();
    await query(first.url, 'create table kept as select 42 as answer');
    await first.stop();
    const second = await postgres();
    expect(second.port).toBe(first.port);
    expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
  });

  it('starts after a kill -9, also when its old process id is somebody else now', async () => {
    const first = await postgres();
    await query(first.url, 'create table again as select 43 as answer');
    process.kill(first.pid, 'SIGKILL');
    await first.gone;
    const file = join(directory, 'data/postmaster.pid');
    const lines = (await readFile(file, 'utf8')).split('\n');
    await writeFile(file, [String(process.pid), ...lines.slice(1)].join('\n'));
    const second = await postgres();
    expect(await query(second.url, 'select answer from again')).toEqual([{ answer: 43 }]);
  });

  it('runs in a directory that only its owner can enter, and again after a kill -9', async () => {
    const closed = await mkdtemp(join(tmpdir(), 'hangar-closed-'));
    const inside = { directory: join(closed, 'postgres'), port: 0, password: PASSWORD };
    try {
      const first = await startPostgres(inside);
      await query(first.url, 'create table closed as select 44 as answer');
      process.kill(first.pid, 'SIGKILL');
      await first.gone;
      const second = await startPostgres(inside);
      running.push(second);
      expect(await query(second.url, 'select answer from closed')).toEqual([{ answer: 44 }]);
      await running.pop()?.stop();
    } finally {
      await rm(closed, { recursive: true, force: true });
    }
  });

  it('says so when another Postgres uses the directory', async () => {
    await postgres();
    await expect(postgres()).rejects.toMatchObject({ code: 'conflict' });
  });
});

describe('embedded nats-server', () => {
  it('asks for user and password, which stand in a private file only', async () => {
    const { url, user, password } = await nats();
    const connection = await connect({ servers: url, user, pass: password });
    expect(connection.info?.jetstream).toBe(true);
    await connection.close();
    await expect(connect({ servers: url, user, pass: 'wrong' })).rejects.toThrow(/uthorization/);
    await expect(connect({ servers: url })).rejects.toThrow(/uthorization/);
    expect((await stat(join(natsDirectory(), 'nats.conf'))).mode & 0o777).toBe(0o600);
  });

  it('keeps its port over a restart and after a kill -9', async () => {
    const first = await nats();
    process.kill(first.pid, 'SIGKILL');
    await first.gone;
    const second = await nats();
    expect(second.port).toBe(first.port);
  });

  it('tells how to install it when it is missing', async () => {
    process.env['NATS_SERVER'] = '/nowhere/nats-server';
    await expect(nats()).rejects.toMatchObject({
      code: 'unavailable',
      hint: expect.stringContaining('apt-get install nats-server'),
    });
  });

  it('says what is wrong when it does not start', async () => {
    const { port } = await nats();
    const other = startNats({ directory: natsDirectory(), port, user: 'u', password: 'p' });
    await expect(other).rejects.toThrow(/address already in use/);
  });
});

describe('the leash', () => {
  it('ends both servers when their owner is killed with kill -9', async () => {
    const script = fileURLToPath(new URL('testing/owner.ts', import.meta.url));
    const owner = fork(script, [directory, PASSWORD], {
      execArgv: ['--conditions=@hangar/source', '--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const [pids] = (await once(owner, 'message')) as [number[]];
    expect(pids).toHaveLength(2);
    expect(pids.every((pid) => isAlive(pid))).toBe(true);
    owner.kill('SIGKILL');
    await eventually(() => pids.every((pid) => !isAlive(pid)));
    await postgres();
  });
});
