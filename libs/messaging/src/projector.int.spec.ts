import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@hangar/testing';
import pg from 'pg';
import type { EventStore } from './event-store.ts';
import { createProjector, type Projector, type ProjectorOptions } from './projector.ts';
import { sampleEvent, sampleMeta, sampleStore } from './testing/sample.ts';
import { createLocalWake } from './wake.ts';

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
const wake = createLocalWake();
const meta = sampleMeta();
const projectors: Projector[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 12 });
  store = sampleStore(pool, wake);
});
afterEach(async () => {
  await Promise.all(projectors.splice(0).map((projector) => projector.stop()));
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** Sums turns per stream in a table per fold; the view `turns` shows the one in use. */
function start(fold: number, factor: number, options: Partial<ProjectorOptions> = {}): Projector {
  const projector = createProjector({
    name: 'turns',
    fold,
    pool,
    wake,
    batchEventsMax: 16,
    prepare: async (tx) => {
      await tx.query(`create table turns_${fold} (stream text primary key, total int, n int)`);
    },
    apply: async (events, tx) => {
      for (const event of events) {
        await tx.query(
          `insert into turns_${fold} values ($1, $2, 1) on conflict (stream)
           do update set total = turns_${fold}.total + $2, n = turns_${fold}.n + 1`,
          [event.stream, Number(event.data['turn']) * factor],
        );
      }
    },
    activate: async (tx) => {
      await tx.query(`create or replace view turns as select * from turns_${fold}`);
    },
    ...options,
  });
  projectors.push(projector);
  projector.start();
  return projector;
}

const append = async (stream: string, from: number, count: number): Promise<void> => {
  const events = Array.from({ length: count }, () => sampleEvent(1));
  await store.append(stream, from, events, { meta });
};

const read = async (): Promise<unknown> =>
  (await pool.query('select stream, total, n from turns order by stream')).rows;

describe('projector', () => {
  it('follows the log, in two replicas, and counts every event once', async () => {
    await append('session/a', 0, 50);
    const [first, second] = [start(1, 1), start(1, 1)];
    await Promise.all(
      ['session/b', 'session/c'].map(async (stream) => {
        for (let n = 0; n < 30; n += 1) await append(stream, n, 1);
      }),
    );
    await Promise.all([first.caughtUp(), second.caughtUp()]);
    expect(await read()).toEqual([
      { stream: 'session/a', total: 50, n: 50 },
      { stream: 'session/b', total: 30, n: 30 },
      { stream: 'session/c', total: 30, n: 30 },
    ]);
    expect(first.position()).toEqual(await store.head());
  });

  it('goes on where it was, and does nothing of a batch that failed', async () => {
    let failures = 0;
    const errors: unknown[] = [];
    const old = projectors.length;
    expect(old).toBe(0);
    await append('session/d', 0, 5);
    const projector = start(1, 1, {
      onError: (error) => errors.push(error),
      apply: async (events, tx) => {
        for (const event of events) {
          await tx.query(
            `insert into turns_1 values ($1, 1, 1) on conflict (stream)
            do update set n = turns_1.n + 1, total = turns_1.total + 1`,
            [event.stream],
          );
        }
        failures += 1;
        if (failures === 1) throw new Error('not now');
      },
    });
    await projector.caughtUp();
    expect(errors).toHaveLength(1);
    expect(await read()).toContainEqual({ stream: 'session/d', total: 5, n: 5 });
  });

  it('builds a new fold beside the old one and switches when it has caught up', async () => {
    const before = await read();
    const gate = Promise.withResolvers<void>();
    const projector = start(2, 10, {
      activate: async (tx) => {
        await gate.promise;
        await tx.query('create or replace view turns as select * from turns_2');
        await tx.query('drop table turns_1');
      },
    });
    const isOver = projector.caughtUp();
    expect(await read()).toEqual(before);
    gate.resolve();
    await isOver;
    expect(await read()).toContainEqual({ stream: 'session/a', total: 500, n: 50 });
    const { rows } = await pool.query('select fold, state from es.projection');
    expect(rows).toEqual([{ fold: 2, state: 'live' }]);
  });
});
