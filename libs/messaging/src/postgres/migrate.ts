import type pg from 'pg';
import { LOG_FUNCTIONS } from './schema-functions.ts';
import { LOG_TABLES } from './schema.ts';
import { inTransaction } from './transaction.ts';

/** Changes of the schema `es` in order; one that was released is never edited. */
const MIGRATIONS = [{ version: 1, sql: LOG_TABLES + LOG_FUNCTIONS }];

/** A number of our own for the advisory lock, so that replicas that start together take turns. */
const MIGRATION_LOCK = 4_701_001;

/** Brings the schema `es` up to date. Safe to call from every replica at every start. */
export async function migrateEventLog(pool: pg.Pool): Promise<void> {
  await inTransaction(pool, async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await tx.query('create schema if not exists es');
    await tx.query(`create table if not exists es.migration (
      version integer primary key, at timestamptz not null default now())`);
    const { rows } = await tx.query<{ version: number }>(
      'select coalesce(max(version), 0) as version from es.migration',
    );
    for (const migration of MIGRATIONS) {
      if (migration.version <= (rows[0]?.version ?? 0)) continue;
      await tx.query(migration.sql);
      await tx.query('insert into es.migration (version) values ($1)', [migration.version]);
    }
  });
}
