import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNats, type EmbeddedNats } from '@hangar/service-kit/embedded';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import pg from 'pg';
import { createTestDatabase } from './test-postgres.ts';

/** A nats-server of one test file, which a test may kill, and start again on the same port. */
export interface TestNats {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  pid(): number;
  /** The JetStream store, for tests that lose it or put an old one back. */
  readonly store: string;
  /** A connection that reconnects for ever; closed by the stack. */
  connect(): Promise<NatsConnection>;
  /** kill -9, and waits until the process is gone. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface TestStack {
  readonly databaseUrl: string;
  readonly pool: pg.Pool;
  readonly natsServer: TestNats;
  readonly nats: NatsConnection;
  close(): Promise<void>;
}

export interface TestStackOptions {
  /** Connections of `pool`, 20 when left out. */
  poolMax?: number;
  /** Schemas besides the event log's. */
  migrate?(pool: pg.Pool): Promise<void>;
}

const POOL_CONNECTIONS_MAX = 20;

/** A fresh database on this process's Postgres and a nats-server, both real. */
export async function startTestStack(options: TestStackOptions = {}): Promise<TestStack> {
  const database = await createTestDatabase();
  const pool = new pg.Pool({
    connectionString: database.url,
    max: options.poolMax ?? POOL_CONNECTIONS_MAX,
  });
  pool.on('error', () => undefined);
  await options.migrate?.(pool);
  const { server, close } = await startTestNats();
  const nats = await server.connect();
  return {
    databaseUrl: database.url,
    pool,
    natsServer: server,
    nats,
    close: async () => {
      await close();
      await pool.end();
      await database.drop();
    },
  };
}

/** Only the nats-server, for tests that need no database. */
export async function startTestNats(): Promise<{ server: TestNats; close(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'hangar-nats-'));
  const password = randomBytes(12).toString('hex');
  const launch = (): Promise<EmbeddedNats> =>
    startNats({ directory, port: 0, user: 'hangar', password, unref: true });
  let running = await launch();
  const connections: NatsConnection[] = [];
  const server: TestNats = {
    url: running.url,
    user: 'hangar',
    password,
    store: running.store,
    pid: () => running.pid,
    connect: async () => {
      const connection = await connect({
        servers: running.url,
        user: 'hangar',
        pass: password,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 50,
        reconnectJitter: 10,
      });
      connections.push(connection);
      return connection;
    },
    kill: async () => {
      process.kill(running.pid, 'SIGKILL');
      await running.gone;
    },
    stop: () => running.stop(),
    start: async () => {
      running = await launch();
    },
  };
  const close = async (): Promise<void> => {
    await Promise.all(connections.map((connection) => connection.close()));
    await running.stop();
    await rm(directory, { recursive: true, force: true });
  };
  return { server, close };
}
