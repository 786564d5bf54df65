import type pg from 'pg';
import { DataSource } from 'typeorm';
import { EnvironmentView } from '../environments/environment.view.ts';
import { IdempotencyKey } from '../idempotency/idempotency-key.row.ts';
import {
  CardView,
  CheckpointView,
  MessageView,
  SessionView,
  TurnView,
} from '../sessions/session.view.ts';
import { MIGRATIONS } from './migrations.ts';
import { surviveCuts } from './survive-cuts.ts';

/** Connections for reading, beside those of the log. */
const READ_CONNECTIONS_MAX = 10;

export const ENTITIES = [
  SessionView,
  TurnView,
  CheckpointView,
  MessageView,
  CardView,
  EnvironmentView,
  IdempotencyKey,
];

/** A number of our own, so that replicas that start together migrate one after the other. */
const MIGRATION_LOCK = 4_701_002;

/** A data source to the same database as the pool, with the tables of this program. */
export async function openDataSource(pool: pg.Pool): Promise<DataSource> {
  // A pool hides the password from enumeration; without it there would be none to go on.
  const { password } = pool.options;
  const dataSource = new DataSource({
    type: 'postgres',
    applicationName: 'hangar-gateway',
    schema: 'gateway',
    entities: ENTITIES,
    migrations: MIGRATIONS,
    migrationsTableName: 'migration',
    extra: {
      ...pool.options,
      ...(password === undefined ? {} : { password }),
      max: READ_CONNECTIONS_MAX,
    },
  });
  await dataSource.initialize();
  surviveCuts(poolOf(dataSource));
  try {
    await migrate(pool, dataSource);
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
  return dataSource;
}

/** TypeORM types its pool as anything. */
const poolOf = (dataSource: DataSource): pg.Pool =>
  (dataSource.driver as unknown as { master: pg.Pool }).master;

const MADE_MEANWHILE: ReadonlySet<unknown> = new Set(['23505', '42P07']);

async function migrate(pool: pg.Pool, dataSource: DataSource): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await client.query('create schema if not exists gateway');
    await dataSource.runMigrations({ transaction: 'each' }).catch(async (error: unknown) => {
      // Another service made the same table at the same moment; it is there now.
      if (!MADE_MEANWHILE.has((error as { code?: unknown }).code)) throw error;
      await dataSource.runMigrations({ transaction: 'each' });
    });
  } finally {
    // Ends the session, and with it the lock, whatever happened in between.
    client.release(true);
  }
}
