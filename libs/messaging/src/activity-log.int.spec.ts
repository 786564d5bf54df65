import { afterAll, beforeAll } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@hangar/testing';
import pg from 'pg';
import { ACTIVITY_TABLE, createActivityLog } from './activity-log.ts';
import { makeTable } from './connect.ts';
import { migrateEventLog } from './postgres/migrate.ts';
import { describeActivityLog } from './testing/activity-log.suite.ts';

let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 4 });
  pool.on('error', () => undefined);
  await migrateEventLog(pool);
  // As replicas do that start together.
  await Promise.all(Array.from({ length: 4 }, () => makeTable(pool, ACTIVITY_TABLE)));
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

describeActivityLog('Postgres', () => Promise.resolve(createActivityLog(pool)));
