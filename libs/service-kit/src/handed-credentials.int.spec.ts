import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@hangar/testing';
import pg from 'pg';
import { HANDED_MAX, HandedCredentials } from './handed-credentials.ts';
import { HANDED_CREDENTIAL_TABLE_SQL } from './postgres/handed-credential.sql.ts';
import { Vault } from './vault.ts';

const young = Buffer.alloc(32, 1);
const old = Buffer.alloc(32, 2);
const secret = (value: string) => ({ name: 'GIT_TOKEN', value });

describe('what a sandbox was given', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  let handed: HandedCredentials;
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new pg.Pool({ connectionString: database.url, max: 4 });
    await Promise.all([1, 2, 3].map(() => pool.query(HANDED_CREDENTIAL_TABLE_SQL)));
  });
  afterAll(async () => {
    pool.on('error', () => undefined);
    await pool.end();
    await database.drop();
  });
  beforeEach(async () => {
    await pool.query('truncate handed_credential');
    handed = new HandedCredentials(pool, new Vault([young]));
  });

  it('is listed newest first, for that sandbox only, and sealed', async () => {
    await handed.note('sbx-1', secret('token-one'));
    await handed.note('sbx-1', secret('token-two'));
    await handed.note('sbx-2', secret('token-three'));
    expect(await handed.list('sbx-1')).toEqual([secret('token-two'), secret('token-one')]);
    const { rows } = await pool.query<{ sealed: Buffer }>('select sealed from handed_credential');
    expect(rows.map(({ sealed }) => sealed.includes('token'))).toEqual([false, false, false]);
    await pool.query(
      "update handed_credential set sandbox_id = 'sbx-3' where sandbox_id = 'sbx-2'",
    );
    expect(await handed.list('sbx-3')).toEqual([]);
  });

  it('is gone with the sandbox', async () => {
    await handed.note('sbx-1', secret('token-one'));
    await handed.note('sbx-2', secret('token-two'));
    await handed.forget('sbx-1');
    await handed.forget('sbx-1');
    expect([await handed.list('sbx-1'), await handed.list('sbx-2')]).toEqual([
      [],
      [secret('token-two')],
    ]);
  });

  it('has a bound: the newest are kept', async () => {
    for (let n = 0; n < HANDED_MAX + 3; n += 1) await handed.note('sbx-1', secret(`token-${n}`));
    const listed = await handed.list('sbx-1');
    expect(listed).toHaveLength(HANDED_MAX);
    expect(listed[0]).toEqual(secret(`token-${HANDED_MAX + 2}`));
    const { rows } = await pool.query<{ count: string }>('select count(*) from handed_credential');
    expect(rows[0]?.count).toBe(String(HANDED_MAX));
  });

  it('is readable after a rotation of the vault key, and skipped without the old key', async () => {
    await new HandedCredentials(pool, new Vault([old])).note('sbx-1', secret('token-old'));
    await handed.note('sbx-1', secret('token-young'));
    expect(await handed.list('sbx-1')).toEqual([secret('token-young')]);
    const both = new HandedCredentials(pool, new Vault([young, old]));
    expect(await both.list('sbx-1')).toHaveLength(2);
  });
});
