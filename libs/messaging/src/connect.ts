import { HangarError, validateEvent } from '@hangar/contracts';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import pg from 'pg';
import type { Aggregate } from './event.ts';
import type { EventStore } from './event-store.ts';
import { createNatsWake } from './jetstream/wake.ts';
import { createPostgresEventStore } from './postgres/event-store.ts';
import { migrateEventLog } from './postgres/migrate.ts';
import { inTransaction } from './postgres/transaction.ts';
import { ACTIVITY_TABLE } from './activity-log.ts';
import { PRESENCE_TABLE } from './presence.ts';
import type { Wake } from './wake.ts';

export interface LogAddress {
  /** Names the connections, for whoever looks at the servers. */
  service: string;
  databaseUrl: string;
  natsUrl: string;
  natsUser?: string | undefined;
  natsPassword?: string | undefined;
  /** Connections to Postgres at most. */
  poolMax?: number;
}

/** A service's connections to the log and the bus. */
export interface LogConnection {
  pool: pg.Pool;
  nats: NatsConnection;
  wake: Wake;
  /** The log as the owner of these aggregates sees it. */
  store(owns: readonly Aggregate[]): EventStore;
  close(): Promise<void>;
}

const POOL_MAX = 10;
/** A writer that forgets its transaction holds up the feed of everybody. */
const IDLE_TRANSACTION_MS = 10_000;
const TRANSACTION_MS_MAX = 30_000;
/** A server that is not there says so at once; one on a machine with much to do takes its time. */
const CONNECT_MS_MAX = 30_000;
const FIRST_MS_MAX = 30_000;
const FIRST_PAUSE_MS = 250;

/**
 * Connects to Postgres and NATS, and brings the log's schema up to date. Both may go away and
 * come back later; only at the start they have to be there.
 */
export async function connectLog(address: LogAddress): Promise<LogConnection> {
  const pool = new pg.Pool({
    connectionString: address.databaseUrl,
    max: address.poolMax ?? POOL_MAX,
    application_name: `hangar-${address.service}`,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    options: `-c idle_in_transaction_session_timeout=${IDLE_TRANSACTION_MS} -c transaction_timeout=${TRANSACTION_MS_MAX}`,
  });
  // An idle connection that breaks is replaced at the next query; without a listener it ends the process.
  pool.on('error', () => undefined);
  // The same for one that breaks between being handed out and its first query.
  pool.on('connect', (client) => client.on('error', () => undefined));
  let nats: NatsConnection | undefined;
  try {
    await atFirst(async () => {
      await migrateEventLog(pool);
      await makeTable(pool, PRESENCE_TABLE);
      await makeTable(pool, ACTIVITY_TABLE);
    });
    nats = await atFirst(() =>
      connect({
        servers: address.natsUrl.split(','),
        name: `hangar-${address.service}`,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 250,
        timeout: CONNECT_MS_MAX,
        ...(address.natsUser ? { user: address.natsUser, pass: address.natsPassword ?? '' } : {}),
      }),
    );
  } catch (cause) {
    await pool.end();
    if (cause instanceof HangarError) throw cause;
    const text = cause instanceof Error ? cause.message : String(cause);
    throw new HangarError('unavailable', `${address.service} cannot reach its servers: ${text}`, {
      hint: 'Look whether Postgres and NATS run, and at HANGAR_DATABASE_URL and HANGAR_NATS_URL.',
      cause,
    });
  }
  const connection = nats;
  const wake = createNatsWake(connection);
  return {
    pool,
    nats: connection,
    wake,
    store: (owns) => createPostgresEventStore({ pool, owns, validate: validateEvent, wake }),
    close: async () => {
      await connection.drain().catch(() => undefined);
      await pool.end();
    },
  };
}

/** Services and servers start side by side: one that is not there yet is waited for, for a while. */
async function atFirst<T>(attempt: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + FIRST_MS_MAX;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > deadline || isRefusal(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS));
    }
  }
}

/** A wrong name or password stays wrong, however long one waits. */
function isRefusal(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  const isLogin = typeof code === 'string' && (code.startsWith('28') || code === '3D000');
  return isLogin || (error as Error).name === 'AuthorizationError';
}

/** A number of our own for the advisory lock. */
const TABLE_LOCK = 4_701_002;

/**
 * Runs a `create table if not exists`. Replicas that start together may all find it missing, and
 * Postgres tells all but one of them of a conflict, in several ways: so they take turns.
 */
export async function makeTable(pool: pg.Pool, sql: string): Promise<void> {
  await inTransaction(pool, async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [TABLE_LOCK]);
    await tx.query(sql);
  });
}
