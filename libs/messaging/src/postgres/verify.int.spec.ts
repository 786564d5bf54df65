import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@hangar/testing';
import pg from 'pg';
import type { EventStore } from '../event-store.ts';
import { sampleEvent, sampleMeta, sampleStore } from '../testing/sample.ts';

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let stream = '';
let streams = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 2 });
  store = sampleStore(pool);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});
beforeEach(async () => {
  stream = `session/s${(streams += 1)}`;
  await store.append(
    stream,
    0,
    [1, 2, 3].map((n) => sampleEvent(n)),
    { meta: sampleMeta() },
  );
  await store.append(stream, 3, [sampleEvent(4)], { meta: sampleMeta() });
});

/** As somebody with the rights of the database's owner would do it. */
const tamper = async (sql: string): Promise<void> => {
  const client = await pool.connect();
  await client.query('begin');
  await client.query(`select set_config('es.maintenance', 'on', true)`);
  const { rowCount } = await client.query(sql, [stream]);
  await client.query('commit');
  client.release();
  expect(rowCount).toBe(1);
};

describe('the hash chain finds [L1]', () => {
  it('nothing in a log that was only appended to', async () => {
    expect(await store.verify(stream)).toEqual([]);
  });

  it.each([
    ['data', `data = '{"turn":2}'`],
    ['meta', `meta = '{"actor":"owner:other","cause":null,"correlation":"x"}'`],
    ['type', `type = 'TurnFailed'`],
    ['time', `at = at + interval '1 ms'`],
    ['id', `id = gen_random_uuid()`],
    ['schema', 'schema = 2'],
  ])('a changed %s', async (_field, change) => {
    await tamper(`update es.event set ${change} where stream_id = $1 and version = 2`);
    expect(await store.verify(stream)).toEqual([{ stream, version: 2, problem: 'changed' }]);
    expect(await store.verify()).toContainEqual({ stream, version: 2, problem: 'changed' });
  });

  it('a changed row whose own hash was made to fit', async () => {
    await tamper(`update es.event e set data = '{}', hash = es.row_hash(
        (select hash from es.event p where p.stream_id = $1 and p.version = 1),
        e.stream_id, e.version, e.id, e.type, e.schema, e.at, '{}', e.meta)
      where stream_id = $1 and version = 2`);
    expect(await store.verify(stream)).toEqual([{ stream, version: 3, problem: 'changed' }]);
  });

  it('a row missing from the middle', async () => {
    await tamper(`delete from es.event where stream_id = $1 and version = 2`);
    expect(await store.verify(stream)).toEqual([{ stream, version: 3, problem: 'missing' }]);
  });

  it('a row missing from the end', async () => {
    await tamper(`delete from es.event where stream_id = $1 and version = 4`);
    expect(await store.verify(stream)).toEqual([{ stream, version: 4, problem: 'missing' }]);
  });

  const copy = `insert into es.event (fence, stream_id, version, id, type, schema, data, meta, at, hash)
    select fence, stream_id, version + 1, gen_random_uuid(), type, schema, data, meta, at, `;

  it('a row added at the end', async () => {
    await tamper(`${copy} hash from es.event where stream_id = $1 and version = 4`);
    const found = await store.verify(stream);
    expect(found).toContainEqual({ stream, version: 5, problem: 'added' });
  });

  it('a row added at the end with a hash that fits', async () => {
    await tamper(`with n as (select gen_random_uuid() as id)
      insert into es.event (fence, stream_id, version, id, type, schema, data, meta, at, hash)
      select fence, stream_id, 5, n.id, type, schema, data, meta, at,
        es.row_hash(hash, stream_id, 5, n.id, type, schema, at, data, meta)
      from es.event, n where stream_id = $1 and version = 4`);
    expect(await store.verify(stream)).toEqual([{ stream, version: 5, problem: 'added' }]);
  });

  it('a row put in between', async () => {
    await tamper(`update es.event set version = 5 where stream_id = $1 and version = 4`);
    await tamper(`${copy} hash from es.event where stream_id = $1 and version = 3`);
    const found = await store.verify(stream);
    expect(found.map((problem) => problem.problem)).toContain('changed');
  });
});
