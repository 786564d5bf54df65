import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HangarError } from '@hangar/contracts';
import { createTestDatabase, type TestDatabase } from '@hangar/testing';
import pg from 'pg';
import { createAggregate, type AggregateHandler, type AggregateOptions } from './aggregate.ts';
import { inTransaction } from './postgres/transaction.ts';
import { sampleMeta, sampleStore } from './testing/sample.ts';

interface Counted {
  type: 'Counted';
  data: { by: number };
}
type Add = { by: number; max?: number };
type Options = AggregateOptions<number, Counted, Add>;

let database: TestDatabase;
let pool: pg.Pool;
const meta = sampleMeta();
let next = 0;
const newId = (): string => `agg-${(next += 1)}`;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 20 });
  pool.on('error', () => undefined);
  await pool.query('create table counted (id text primary key, total integer not null)');
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const counter = (more: Partial<Options> = {}): AggregateHandler<number, Add> =>
  createAggregate<number, Counted, Add>({
    aggregate: 'session',
    pool,
    store: sampleStore(pool),
    foldVersion: 1,
    initial: 0,
    evolve: (total, { data }) => total + data.by,
    decide: (total, { by, max = Infinity }) => {
      if (total + by > max) throw new HangarError('conflict', `${total} is enough`);
      return by === 0 ? [] : [{ type: 'Counted', data: { by } }];
    },
    effects: ({ data }) => [{ key: `e/${Math.random()}`, kind: 'test', payload: data }],
    timers: (id, _before, after) => [
      { id: `t/${id}`, dueAt: new Date('2030-01-01'), kind: 'test', payload: { after } },
    ],
    alongside: async (tx, id, before, events) => {
      const total = events.reduce((sum, { data }) => sum + data.by, before);
      await tx.query(
        `insert into counted (id, total) values ($1, $2)
         on conflict (id) do update set total = excluded.total`,
        [id, total],
      );
    },
    ...more,
  });

const countOf = async (sql: string, id: string): Promise<number> =>
  (await pool.query<{ n: number }>(sql, [id])).rows[0]?.n ?? 0;
const events = (id: string) =>
  countOf(`select count(*)::int as n from es.event where stream_id = 'session/' || $1`, id);
const effects = (id: string) =>
  countOf(`select count(*)::int as n from es.effect where stream_id = 'session/' || $1`, id);
const timers = (id: string) =>
  countOf(`select count(*)::int as n from es.timer where id = 't/' || $1`, id);
const total = (id: string) => countOf('select total as n from counted where id = $1', id);

const all = async (id: string) => [
  await events(id),
  await effects(id),
  await timers(id),
  await total(id),
];

describe('an aggregate', () => {
  it('records events, effects, timers and what goes alongside together', async () => {
    const id = newId();
    const done = await counter().execute(id, { by: 3 }, { meta });
    expect(done).toEqual({ version: 1, events: ['Counted'] });
    expect(await all(id)).toEqual([1, 1, 1, 3]);
  });

  it('records none of them when what goes alongside fails', async () => {
    const id = newId();
    const broken = counter({ alongside: () => Promise.reject(new Error('no room')) });
    await expect(broken.execute(id, { by: 3 }, { meta })).rejects.toThrow('no room');
    expect(await all(id)).toEqual([0, 0, 0, 0]);
    expect(await counter().load(id)).toEqual({ version: 0, state: 0 });
  });

  it('records none of them when the transaction it was handed fails later', async () => {
    const id = newId();
    const failing = inTransaction(pool, async (tx) => {
      await counter().execute(id, { by: 3 }, { meta, tx });
      throw new Error('later');
    });
    await expect(failing).rejects.toThrow('later');
    expect(await all(id)).toEqual([0, 0, 0, 0]);
  });

  it('refuses as it was decided, and is quiet where nothing was', async () => {
    const id = newId();
    await expect(counter().execute(id, { by: 3, max: 2 }, { meta })).rejects.toMatchObject({
      code: 'conflict',
      message: '0 is enough',
    });
    let isTold = false;
    const told = counter({
      timers: () => [],
      alongside: async () => void (isTold = true),
    });
    expect(await told.execute(id, { by: 0 }, { meta })).toEqual({ version: 0, events: [] });
    expect(isTold).toBe(false);
    expect(await events(id)).toBe(0);
  });

  it('decides again on what others recorded meanwhile, and loses none of them', async () => {
    const id = newId();
    const adds = Array.from({ length: 5 }, () => counter().execute(id, { by: 1 }, { meta }));
    await Promise.all(adds);
    expect(await all(id)).toEqual([5, 5, 1, 5]);
  });

  it('never records past a rule, however many try at once', async () => {
    const id = newId();
    const adds = Array.from({ length: 20 }, () =>
      counter().execute(id, { by: 1, max: 3 }, { meta }),
    );
    const results = await Promise.allSettled(adds);
    const done = results.filter(({ status }) => status === 'fulfilled').length;
    const refused = results.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    expect(done).toBeGreaterThan(0);
    expect(await events(id)).toBe(done);
    expect(done).toBeLessThanOrEqual(3);
    expect(refused.every((error: HangarError) => error.code === 'conflict')).toBe(true);
  });
});
