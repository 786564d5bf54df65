import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, seededRandom, startTestStack, type TestStack } from '@hangar/testing';
import { createNatsWake } from './jetstream/wake.ts';
import { createRelay } from './relay.ts';
import { sampleEvent, sampleMeta, sampleStore } from './testing/sample.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    migrate: async (pool) => {
      await pool.query(`create table applied (
        n bigint generated always as identity, stream text, version int, replica text)`);
    },
  });
});
afterAll(() => stack.close());

const STREAMS = 50;
const EVENTS = 30;
const KILLS = 6;
const TEST_MS_MAX = 90_000;
const STEP_MS_MAX = 30_000;
const meta = sampleMeta();

const applied = async (): Promise<number> => {
  const sql = 'select count(*)::int as n from applied';
  return (await stack.pool.query<{ n: number }>(sql)).rows[0]?.n ?? 0;
};

const spawnReplica = (name: string): ChildProcess => {
  const { natsServer, databaseUrl } = stack;
  const script = fileURLToPath(new URL('testing/consumer-replica.ts', import.meta.url));
  const args = [name, databaseUrl, natsServer.url, natsServer.user, natsServer.password];
  return fork(script, args, {
    execArgv: ['--conditions=@hangar/source', '--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
};

describe('three replicas of a consumer', () => {
  it(
    'apply each event once and in order through kill -9 of replicas and of nats-server',
    async () => {
      const seed = Date.now() % 100_000;
      console.log(`seed ${seed}`);
      const random = seededRandom(seed);
      const wake = createNatsWake(stack.nats);
      const store = sampleStore(stack.pool, wake);
      const relay = createRelay({ pool: stack.pool, nats: stack.nats, wake, timeoutMs: 1000 });
      relay.start();
      const replicas = [0, 1, 2].map((i) => spawnReplica(`r${i}`));
      const writing = (async () => {
        for (let version = 0; version < EVENTS; version += 1) {
          const streams = Array.from({ length: STREAMS }, (_, s) => `session/s${s}`);
          await Promise.all(
            streams.map((s) => store.append(s, version, [sampleEvent(version)], { meta })),
          );
        }
      })();
      let kills = 0;
      const killOne = async (): Promise<void> => {
        const i = Math.floor(random() * replicas.length);
        const victim = replicas[i];
        if (!victim) return;
        victim.kill('SIGKILL');
        if (victim.exitCode === null && victim.signalCode === null) await once(victim, 'exit');
        replicas[i] = spawnReplica(`r${i}-${kills}`);
        kills += 1;
      };
      const total = STREAMS * EVENTS;
      for (let next = 1; next <= KILLS; next += 1) {
        const mark = (total * next) / (KILLS + 2);
        await eventually(async () => (await applied()) >= mark, { withinMs: STEP_MS_MAX });
        await killOne();
        if (next !== 3) continue;
        await stack.natsServer.kill();
        await stack.natsServer.start();
      }
      await writing;
      await eventually(async () => (await applied()) >= total, { withinMs: STEP_MS_MAX });
      for (const replica of replicas) {
        replica.kill('SIGTERM');
        await once(replica, 'exit');
      }
      await relay.stop();
      const twice = await stack.pool.query(
        'select stream, version from applied group by 1, 2 having count(*) <> 1',
      );
      const turned = await stack.pool.query(`select * from (select version, stream,
      lag(version, 1, 0) over (partition by stream order by n) as before from applied) o
      where version <> before + 1`);
      console.log(`${await applied()} applied, ${kills} replicas killed`);
      expect(kills).toBe(KILLS);
      expect(twice.rows).toEqual([]);
      expect(turned.rows).toEqual([]);
      expect(await applied()).toBe(total);
    },
    TEST_MS_MAX,
  );
});
