import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  createFakeClock,
  createTestDatabase,
  eventually,
  type TestDatabase,
} from '@hangar/testing';
import pg from 'pg';
import type { EventStore } from './event-store.ts';
import { sampleEvent, sampleMeta, sampleStore } from './testing/sample.ts';
import { createTimerRunner, type TimerRunner, type TimerRunnerOptions } from './timers.ts';
import { createLocalWake } from './wake.ts';

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
const wake = createLocalWake();
const meta = sampleMeta();
const runners: TimerRunner[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 12 });
  store = sampleStore(pool, wake);
});
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.stop()));
  await pool.query('delete from es.timer');
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const start = (options: Pick<TimerRunnerOptions, 'kinds'> & Partial<TimerRunnerOptions>): void => {
  const runner = createTimerRunner({ pool, wake, ...options });
  runners.push(runner);
  runner.start();
};

const arm = (stream: string, id: string, dueAt: Date, kind = 'idle') =>
  store.append(stream, 0, [], { meta, timers: [{ id, dueAt, kind, payload: { id } }] });

const timerIds = async (): Promise<string[]> =>
  (await pool.query<{ id: string }>('select id from es.timer order by id')).rows.map((r) => r.id);

describe('timers', () => {
  it('fire once each in two replicas, soon after they are due', async () => {
    const fired: { id: string; lateMs: number }[] = [];
    const kinds: TimerRunnerOptions['kinds'] = {
      idle: async (timer, tx) => {
        await store.append(`run/t-${timer.id}`, 0, [sampleEvent(1)], { meta, tx });
        fired.push({ id: timer.id, lateMs: Date.now() - timer.dueAt.getTime() });
      },
    };
    start({ kinds });
    start({ kinds });
    const startMs = Date.now();
    const ids = Array.from({ length: 150 }, (_, i) => `t${i}`);
    for (const [i, id] of ids.entries()) {
      await arm('session/s1', id, new Date(startMs + 2000 + i * 10));
    }
    await eventually(() => fired.length >= 150, { withinMs: 25_000 });
    const late = fired.map((f) => f.lateMs).toSorted((a, b) => a - b);
    console.log(`lateness p50 ${late[75]} ms, p99 ${late[148]} ms`);
    expect(new Set(fired.map((f) => f.id)).size).toBe(150);
    expect(fired).toHaveLength(150);
    for (const id of ids) expect((await store.load(`run/t-${id}`)).version).toBe(1);
    expect(late[0]).toBeGreaterThanOrEqual(0);
    expect(await timerIds()).toEqual([]);
  });

  it('are moved by arming the same id again, and cancelled', async () => {
    const clock = createFakeClock();
    const fired: string[] = [];
    const at = (ms: number): Date => new Date(clock.now().getTime() + ms);
    await arm('session/s2', 'moved', at(1000));
    await arm('session/s2', 'moved', at(5000));
    await arm('session/s2', 'gone', at(1000));
    await arm('session/s2', 'witness', at(1500));
    await store.append('session/s2', 0, [], { meta, timers: [{ id: 'gone', cancel: true }] });
    start({
      kinds: { idle: async (timer) => void fired.push(timer.id) },
      now: clock.now,
      sweepMs: 20,
    });
    clock.advance(2000);
    // Due after both: when it has fired, they would have.
    await eventually(() => fired.includes('witness'));
    expect(fired).toEqual(['witness']);
    clock.advance(3000);
    await eventually(() => fired.length === 2);
    expect(fired).toEqual(['witness', 'moved']);
  });

  it('can be armed again by what they do, and nothing of a failed try stays', async () => {
    let tries = 0;
    const kinds: TimerRunnerOptions['kinds'] = {
      again: async (timer, tx) => {
        tries += 1;
        const { version } = await store.load('run/again');
        const rearm = { id: timer.id, kind: 'again', dueAt: new Date(Date.now() + 20) };
        await store.append('run/again', version, [sampleEvent(tries)], {
          meta,
          tx,
          timers: version < 2 ? [rearm] : [],
        });
        if (tries === 2) throw new Error('not now');
      },
    };
    await arm('run/again', 'loop', new Date(), 'again');
    start({ kinds, retryMs: () => 30 });
    await eventually(async () => (await timerIds()).length === 0);
    const { events } = await store.load('run/again');
    expect(events.map((event) => event.data['turn'])).toEqual([1, 3, 4]);
  });

  it('are given up, loudly, when they always fail; others fire all the same', async () => {
    const dead: string[] = [];
    const fired: string[] = [];
    await arm('session/s3', 'bad', new Date(), 'bad');
    await arm('session/s3', 'good', new Date());
    start({
      kinds: {
        bad: () => Promise.reject(new Error('never')),
        idle: async (timer) => void fired.push(timer.id),
      },
      attemptsMax: 3,
      retryMs: () => 5,
      onDead: (timer) => void dead.push(timer.id),
    });
    await eventually(() => dead.length === 1);
    expect(fired).toEqual(['good']);
    const { rows } = await pool.query('select attempts, error, dead from es.timer');
    expect(rows).toEqual([{ attempts: 3, error: 'never', dead: true }]);
  });
});
