import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@hangar/testing';
import pg from 'pg';
import { START } from '../event.ts';
import type { EventStore } from '../event-store.ts';
import { describeEventStore } from '../testing/event-store.suite.ts';
import { sampleEvent, sampleFold, sampleMeta, sampleStore } from '../testing/sample.ts';
import { createUpcast } from '../upcast.ts';
import { createPostgresEventStore } from './event-store.ts';
import { migrateEventLog } from './migrate.ts';
import { pruneEventLog } from './prune.ts';
import { inTransaction } from './transaction.ts';

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 12 });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

describeEventStore('postgres', () => Promise.resolve(sampleStore(pool)));

describe('postgres event store, beyond the suite', () => {
  let store: EventStore;
  const meta = sampleMeta();
  beforeAll(() => {
    store = sampleStore(pool);
  });
  const fill = async (stream: string, count: number): Promise<void> => {
    for (let done = 0; done < count; done += 100) {
      const events = Array.from({ length: Math.min(100, count - done) }, () => sampleEvent(1));
      await store.append(stream, done, events, { meta });
    }
  };

  it('migrates twice, and from several replicas at once, without harm', async () => {
    await Promise.all([migrateEventLog(pool), migrateEventLog(pool), migrateEventLog(pool)]);
    const { rows } = await pool.query<{ n: number }>('select count(*)::int as n from es.migration');
    expect(rows[0]?.n).toBe(1);
  });

  it('refuses to rewrite, delete or truncate events', async () => {
    await fill('session/fixed', 1);
    for (const sql of [
      `update es.event set data = '{}' where stream_id = 'session/fixed'`,
      `delete from es.event where stream_id = 'session/fixed'`,
      'truncate es.event',
    ]) {
      await expect(pool.query(sql)).rejects.toThrow('append-only');
    }
  });

  it('keeps nothing of a transaction that is rolled back, and tells nobody', async () => {
    const stream = 'session/rolled-back';
    let told = 0;
    const listening = sampleStore(pool, {
      notify: () => void (told += 1),
      subscribe: () => () => undefined,
    });
    const work = inTransaction(pool, async (tx) => {
      await listening.append(stream, 0, [sampleEvent(1)], { meta, tx, effects: [effect()] });
      const inside = await listening.loadState(stream, sampleFold, tx);
      expect(inside.version).toBe(1);
      throw new Error('stop');
    });
    await expect(work).rejects.toThrow('stop');
    expect(await store.load(stream)).toEqual({ version: 0, events: [] });
    expect(told).toBe(0);
    await listening.append(stream, 0, [sampleEvent(1)], { meta, effects: [effect()] });
    expect(told).toBe(2);
  });

  const effect = () => ({ key: randomUUID(), kind: 'none', payload: {} });

  it('writes a snapshot after 200 events and loads from it', async () => {
    const stream = 'session/long';
    await fill(stream, 250);
    expect(await store.loadState(stream, sampleFold)).toEqual({
      version: 250,
      state: { turns: 250, sum: 250 },
    });
    const { rows } = await pool.query<{ version: number }>(
      'select version::int as version from es.snapshot where stream_id = $1',
      [stream],
    );
    expect(rows).toEqual([{ version: 250 }]);
    await fill('session/other', 3);
    await store.append(stream, 250, [sampleEvent(5)], { meta });
    let folded = 0;
    const counting = {
      ...sampleFold,
      evolve: (...args: Parameters<typeof sampleFold.evolve>) => {
        folded += 1;
        return sampleFold.evolve(...args);
      },
    };
    const loaded = await store.loadState(stream, counting);
    expect(loaded).toEqual({ version: 251, state: { turns: 251, sum: 255 } });
    expect(folded).toBe(1);
    await store.loadState(stream, { ...counting, version: 2 });
    expect(folded).toBe(252);
  });

  it('upcasts old shapes at read and fails closed on newer ones', async () => {
    const stream = 'run/old';
    const shapes = { Renamed: { schema: 2, steps: { 1: (d: object) => ({ ...d, b: 2 }) } } };
    const upcasting = createPostgresEventStore({
      pool,
      owns: ['run'],
      validate: () => undefined,
      upcast: createUpcast(shapes),
    });
    await upcasting.append(stream, 0, [{ type: 'Renamed', data: { a: 1 } }], { meta });
    const { events } = await upcasting.load(stream);
    expect(events).toMatchObject([{ schema: 2, data: { a: 1, b: 2 } }]);
    await upcasting.append(stream, 1, [{ type: 'Renamed', schema: 3, data: {} }], { meta });
    await expect(upcasting.load(stream)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('goes on feeding after a logical restore into a cluster with younger transactions', async () => {
    await fill('session/restored', 2);
    await inTransaction(pool, async (tx) => {
      await tx.query(`select set_config('es.maintenance', 'on', true)`);
      await tx.query(`update es.event set fence = (fence::text::bigint + 1000000000)::text::xid8`);
      await tx.query(`update es.stream set fence = (fence::text::bigint + 1000000000)::text::xid8`);
    });
    expect(await store.feed(START, 10)).toEqual([]);
    await pool.query('select es.after_restore()');
    const before = (await store.feed(START, 1000)).length;
    expect(before).toBeGreaterThan(0);
    await store.append('session/restored', 2, [sampleEvent(3)], { meta });
    const events = await store.feed(START, 1000);
    expect(events.length).toBe(before + 1);
    expect(events.at(-1)).toMatchObject({ stream: 'session/restored', version: 3 });
    expect(await store.verify()).toEqual([]);
  });

  it('forgets old answers and done effects, and nothing else', async () => {
    const append = (n: number) =>
      store.append(`session/pruned-${n}`, 0, [sampleEvent(1)], {
        meta,
        command: { id: `prune-${n}`, bodyHash: 'h', result: n },
        effects: [{ key: `prune-${n}`, kind: 'none', payload: {} }],
      });
    await append(1);
    await append(2);
    await append(3);
    await pool.query(`update es.command set at = now() - interval '40 days' where id = 'prune-1'`);
    await pool.query(`update es.effect set created_at = now() - interval '40 days',
      state = case key when 'prune-2' then 'done' else state end where key <> 'prune-3'`);
    expect(await pruneEventLog(pool, 30)).toBe(2);
    const { rows } = await pool.query(
      `select key from es.effect where key like 'prune%' union all
       select id from es.command where id like 'prune%' order by 1`,
    );
    expect(rows.map((row: { key: string }) => row.key)).toEqual([
      'prune-1',
      'prune-2',
      'prune-3',
      'prune-3',
    ]);
    expect(await store.findCommand('prune-1', 'h')).toBeUndefined();
    expect((await store.load('session/pruned-1')).version).toBe(1);
  });
});
