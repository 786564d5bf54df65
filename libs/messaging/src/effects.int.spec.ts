import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, eventually, seededRandom, type TestDatabase } from '@hangar/testing';
import pg from 'pg';
import { createEffectRunner, type EffectRunner, type EffectRunnerOptions } from './effects.ts';
import type { EventStore } from './event-store.ts';
import { inTransaction } from './postgres/transaction.ts';
import { sampleEvent, sampleMeta, sampleStore } from './testing/sample.ts';
import { createLocalWake } from './wake.ts';

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
const wake = createLocalWake();
const meta = sampleMeta();
const runners: EffectRunner[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 20 });
  store = sampleStore(pool, wake);
  await pool.query(`create table effect_log (n int generated always as identity, key text,
    instance text, begun timestamptz, ended timestamptz)`);
});
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.stop()));
  await pool.query('delete from es.effect');
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const start = (options: Pick<EffectRunnerOptions, 'kinds'> & Partial<EffectRunnerOptions>) => {
  const runner = createEffectRunner({ pool, wake, instance: 'one', ...options });
  runners.push(runner);
  runner.start();
  return runner;
};

const request = (...keys: string[]) =>
  store.append('session/s1', 0, [], {
    meta,
    effects: keys.map((key) => ({ key, kind: 'work', payload: { of: key } })),
  });

const stateOf = async (key: string): Promise<string | undefined> => {
  const sql = 'select state from es.effect where key = $1';
  return (await pool.query<{ state: string }>(sql, [key])).rows[0]?.state;
};

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });

describe('effects', () => {
  it('run at once, each key once, however often it is asked for', async () => {
    const ran: string[] = [];
    start({ kinds: { work: async (effect) => void ran.push(effect.key) }, sweepMs: 60_000 });
    await request('a', 'b');
    await request('a');
    await eventually(
      async () => (await stateOf('b')) === 'done' && (await stateOf('a')) === 'done',
    );
    await request('a');
    expect(ran.toSorted()).toEqual(['a', 'b']);
  });

  it('are tried again after a pause, counting, and die loudly at the end', async () => {
    const attempts: number[] = [];
    const dead: string[] = [];
    start({
      kinds: {
        work: async (effect) => {
          attempts.push(effect.attempt);
          throw new Error('refused');
        },
      },
      attemptsMax: 3,
      retryMs: () => 10,
      onDead: (effect) => void dead.push(effect.key),
    });
    await request('c');
    await eventually(() => dead.length === 1);
    expect(attempts).toEqual([1, 2, 3]);
    const { rows } = await pool.query(`select state, error from es.effect where key = 'c'`);
    expect(rows).toEqual([{ state: 'dead', error: 'refused' }]);
  });

  it('record their outcome and their end in one transaction', async () => {
    start({
      kinds: {
        work: (effect) =>
          inTransaction(pool, async (tx) => {
            await effect.done(tx);
            await store.append('run/outcome', 0, [sampleEvent(1)], { meta, tx });
          }),
      },
    });
    await request('d');
    await eventually(async () => (await store.load('run/outcome')).version === 1);
    expect(await stateOf('d')).toBe('done');
  });

  it('are handed on at a stop: the signal is aborted and the try does not count', async () => {
    let isAborted = false;
    const attempts: number[] = [];
    const first = start({
      kinds: {
        work: async (effect, signal) => {
          attempts.push(effect.attempt);
          signal.addEventListener('abort', () => (isAborted = true));
          await untilAborted(signal);
        },
      },
    });
    await request('e');
    await eventually(() => attempts.length === 1);
    expect(first.running()).toEqual(['e']);
    await first.stop();
    expect(isAborted).toBe(true);
    expect(await stateOf('e')).toBe('ready');
    start({
      instance: 'two',
      kinds: { work: async (effect) => void attempts.push(effect.attempt) },
    });
    await eventually(async () => (await stateOf('e')) === 'done');
    expect(attempts).toEqual([1, 1]);
  });

  it('are not taken by another while the lease is renewed', async () => {
    const finish = Promise.withResolvers<void>();
    const ran: string[] = [];
    const short = { leaseMs: 300, heartbeatMs: 60, sweepMs: 30 };
    const kinds = (name: string): EffectRunnerOptions['kinds'] => ({
      work: async () => {
        ran.push(name);
        await finish.promise;
      },
    });
    start({ ...short, kinds: kinds('one') });
    await request('f');
    await eventually(() => ran.length === 1);
    start({ ...short, instance: 'two', kinds: kinds('two') });
    const until = Date.now() + 900;
    await eventually(() => Date.now() > until);
    expect(ran).toEqual(['one']);
    finish.resolve();
    await eventually(async () => (await stateOf('f')) === 'done');
  });

  it('abort before the lease ends when it cannot be renewed, and cannot be done twice', async () => {
    const lost = Promise.withResolvers<number>();
    const results: string[] = [];
    const broken = new pg.Pool({ connectionString: database.url, max: 2 });
    start({
      pool: broken,
      leaseMs: 500,
      heartbeatMs: 100,
      kinds: {
        work: async (effect, signal) => {
          const beganMs = performance.now();
          // The way to the database is gone: no renewal gets through.
          broken.query = (() => Promise.reject(new Error('gone'))) as typeof broken.query;
          await untilAborted(signal).catch(() => lost.resolve(performance.now() - beganMs));
          await inTransaction(pool, (tx) => effect.done(tx)).then(
            () => results.push('one is done'),
            (error: Error) => results.push(error.message),
          );
        },
      },
    });
    await request('g');
    expect(await lost.promise).toBeLessThan(500);
    await eventually(() => results.length === 1);
    // Nobody had taken it yet, so its outcome still counts.
    expect(results).toEqual(['one is done']);
    expect(await stateOf('g')).toBe('done');
    await runners.splice(0)[0]?.stop();
    await broken.end();
  });
});

describe('effects under kill -9', () => {
  const spawnReplica = (instance: string): ChildProcess => {
    const script = fileURLToPath(new URL('testing/effect-replica.ts', import.meta.url));
    return fork(script, [instance, database.url], {
      execArgv: ['--conditions=@hangar/source', '--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
  };

  it('are all done, and no key is ever worked on by two at the same time', async () => {
    const seed = Date.now() % 100_000;
    console.log(`seed ${seed}`);
    const random = seededRandom(seed);
    const keys = Array.from({ length: 120 }, (_, i) => `k${i}`);
    await request(...keys);
    const names = ['r0', 'r1', 'r2'];
    const replicas = names.map((name) => spawnReplica(name));
    const doneCount = async (): Promise<number> => {
      const sql = `select count(*)::int as n from es.effect where state = 'done'`;
      return (await pool.query<{ n: number }>(sql)).rows[0]?.n ?? 0;
    };
    for (const mark of [20, 45, 70]) {
      await eventually(async () => (await doneCount()) >= mark, { withinMs: 30_000 });
      const i = Math.floor(random() * 3);
      const victim = replicas[i];
      if (!victim) throw new Error('no replica');
      victim.kill('SIGKILL');
      await once(victim, 'exit');
      // The same name takes its own leases over at once; another name has to wait for their end.
      replicas[i] = spawnReplica(mark === 45 ? `other-${i}` : (names[i] ?? ''));
    }
    await eventually(async () => (await doneCount()) === keys.length, { withinMs: 30_000 });
    for (const replica of replicas) {
      replica.kill('SIGTERM');
      await once(replica, 'exit');
    }
    // A killed try has no end; it counts as ended when the next one begins.
    const overlaps = await pool.query(`select a.key, a.instance, b.instance as by
      from effect_log a join effect_log b on a.key = b.key and a.n < b.n
      where a.ended is not null and b.begun < a.ended`);
    const { rows } = await pool.query<{ n: number; cut: number }>(`select count(*)::int as n,
      count(*) filter (where ended is null)::int as cut from effect_log`);
    console.log(`${rows[0]?.n} tries for ${keys.length} keys, ${rows[0]?.cut} cut short`);
    expect(overlaps.rows).toEqual([]);
    const ended = await pool.query(`select key from effect_log where ended is not null
      group by 1 having count(*) > 1`);
    // A kill between the end of the work and its note repeats it; that is at least once.
    expect(ended.rows.length).toBeLessThanOrEqual(3);
    const all = await pool.query(`select distinct key from effect_log where ended is not null`);
    expect(all.rows).toHaveLength(keys.length);
  }, 90_000);
});
