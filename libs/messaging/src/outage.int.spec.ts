import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startPostgres, type EmbeddedPostgres } from '@hangar/service-kit/embedded';
import { eventually, startTestNats, type TestNats } from '@hangar/testing';
import pg from 'pg';
import { createConsumer } from './consumer.ts';
import { createEffectRunner } from './effects.ts';
import { eventSubjects } from './jetstream/subjects.ts';
import { createNatsWake } from './jetstream/wake.ts';
import { migrateEventLog } from './postgres/migrate.ts';
import { createProjector } from './projector.ts';
import { createRelay } from './relay.ts';
import { sampleEvent, sampleMeta, sampleStore } from './testing/sample.ts';
import { createTimerRunner } from './timers.ts';

const START_MS_MAX = 60_000;
let directory = '';
let server: EmbeddedPostgres;
let bus: { server: TestNats; close(): Promise<void> };
const running: { stop(): Promise<void> }[] = [];

const start = (): Promise<EmbeddedPostgres> =>
  startPostgres({ directory, port: 0, password: 'secret' });
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hangar-outage-'));
  server = await start();
  bus = await startTestNats();
}, START_MS_MAX);
afterAll(async () => {
  await Promise.all(running.map((part) => part.stop()));
  await bus.close();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}, START_MS_MAX);

describe('Postgres and nats-server away for a while [O2]', () => {
  it('stop nothing for good: every loop goes on by itself, and nothing is done twice', async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 20 });
    pool.on('error', () => undefined);
    await migrateEventLog(pool);
    const nats = await bus.server.connect();
    const wake = createNatsWake(nats);
    const store = sampleStore(pool, wake);
    const meta = sampleMeta();
    const done: Record<string, number> = { consumed: 0, fired: 0, executed: 0, projected: 0 };
    const count = (name: string): void => void (done[name] = (done[name] ?? 0) + 1);
    const onError = (): void => count('errors');
    running.push(
      createRelay({ pool, nats, wake, timeoutMs: 1000, onError }),
      createConsumer({
        name: 'outage',
        pool,
        nats,
        filter: eventSubjects(),
        readStream: store.readStream,
        handle: async (_event, tx) => tx.onCommit(() => count('consumed')),
        retryMs: () => 50,
        ackWaitMs: 2000,
        onError,
      }),
      createTimerRunner({
        pool,
        wake,
        kinds: { idle: async (_timer, tx) => tx.onCommit(() => count('fired')) },
        onError,
      }),
      createEffectRunner({
        pool,
        wake,
        instance: 'one',
        kinds: { work: async () => count('executed') },
        retryMs: () => 50,
        onError,
      }),
      createProjector({
        name: 'outage',
        fold: 1,
        pool,
        wake,
        prepare: async () => undefined,
        activate: async () => undefined,
        apply: async (events, tx) => tx.onCommit(() => events.forEach(() => count('projected'))),
        onError,
      }),
    );
    for (const part of running as { start?(): void }[]) part.start?.();
    const work = (n: number) =>
      store.append(`session/s${n}`, 0, [sampleEvent(n)], {
        meta,
        timers: [{ id: `t${n}`, dueAt: new Date(), kind: 'idle' }],
        effects: [{ key: `e${n}`, kind: 'work', payload: {} }],
      });
    const areDone = (total: number) =>
      eventually(
        () => Object.entries(done).every(([name, n]) => name === 'errors' || n === total),
        { what: JSON.stringify(done) },
      );
    await work(1);
    await areDone(1);

    process.kill(server.pid, 'SIGKILL');
    await server.gone;
    await eventually(() => (done['errors'] ?? 0) > 2);
    server = await start();
    await eventually(() =>
      work(2).then(
        () => true,
        () => false,
      ),
    );
    await areDone(2);

    await bus.server.kill();
    await work(3);
    await bus.server.start();
    await areDone(3);
    expect(await store.verify()).toEqual([]);
    const { errors, ...counts } = done;
    expect(errors).toBeGreaterThan(0);
    expect(counts).toEqual({ consumed: 3, fired: 3, executed: 3, projected: 3 });
  }, 90_000);
});
