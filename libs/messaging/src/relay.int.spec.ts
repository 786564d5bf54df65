import { cp, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it } from '@jest/globals';
import { eventually, seededRandom, startTestStack, type TestStack } from '@hangar/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import { START } from './event.ts';
import type { EventStore } from './event-store.ts';
import { EVENT_STREAM } from './jetstream/subjects.ts';
import { createNatsWake } from './jetstream/wake.ts';
import { createRelay, type Relay, type RelayOptions } from './relay.ts';
import { countBus, readBus } from './testing/bus-copy.ts';
import { sampleEvent, sampleMeta, sampleStore } from './testing/sample.ts';
import type { Wake } from './wake.ts';

let stack: TestStack;
let wake: Wake;
let store: EventStore;
const relays: Relay[] = [];
const meta = sampleMeta();

beforeAll(async () => {
  stack = await startTestStack();
  wake = createNatsWake(stack.nats);
  store = sampleStore(stack.pool, wake);
});
afterAll(() => stack.close());
beforeEach(async () => {
  await stack.pool.query(`begin; select set_config('es.maintenance', 'on', true);
    delete from es.event; delete from es.stream; delete from es.relay; commit`);
  const manager = await jetstreamManager(stack.nats);
  await manager.streams.delete(EVENT_STREAM).catch(() => undefined);
});
afterEach(async () => {
  await Promise.all(relays.splice(0).map((relay) => relay.stop()));
});

function startRelay(options: Partial<RelayOptions> = {}): Relay {
  const relay = createRelay({ pool: stack.pool, nats: stack.nats, wake, ...options });
  relays.push(relay);
  relay.start();
  return relay;
}

const append = async (from: number, count: number, streams = 10): Promise<void> => {
  const events = Array.from({ length: count }, (_, i) => sampleEvent(from + i));
  const all = Array.from({ length: streams }, (_, s) => `session/s${s}`);
  await Promise.all(all.map((stream) => store.append(stream, from, events, { meta })));
};

/** The order of the whole log, as the bus must have it. */
const readLog = async (): Promise<string[]> => {
  const log: string[] = [];
  for (let cursor = START; ;) {
    const events = await store.feed(cursor, 1000);
    log.push(...events.map((event) => `${event.stream}@${event.version}`));
    const last = events.at(-1);
    if (!last) return log;
    cursor = last.position;
  }
};

const busHolds = (count: number): Promise<true> =>
  eventually(async () => (await countBus(stack.nats)) === count, { withinMs: 25_000 });

describe('relay', () => {
  it('copies the log in order, and goes on where it was', async () => {
    const first = startRelay();
    await append(0, 30);
    await busHolds(300);
    await first.stop();
    await append(30, 10);
    startRelay();
    await busHolds(400);
    expect(await readBus(stack.nats)).toEqual(await readLog());
  });

  it('lets one of several relays work at a time, the next when it stops', async () => {
    const [a, b] = [startRelay(), startRelay()];
    await append(0, 1);
    await busHolds(10);
    const leaders = [a, b].filter((relay) => relay.counts().isLeader);
    expect(leaders).toHaveLength(1);
    await leaders[0]?.stop();
    await append(1, 1);
    await busHolds(20);
  });

  it('goes on from the last message when it died before noting its place', async () => {
    const relay = startRelay();
    await append(0, 20);
    await busHolds(200);
    await relay.stop();
    await stack.pool.query(`update es.relay set fence = '0', position = 0, js_seq = 0`);
    await append(20, 5);
    const next = startRelay({ duplicateWindowMs: 200 });
    await busHolds(250);
    expect(await readBus(stack.nats)).toEqual(await readLog());
    expect(next.counts()).toMatchObject({ recreated: 0, published: 50 });
  });

  it('refills a wiped store', async () => {
    const relay = startRelay();
    await append(0, 50);
    await busHolds(500);
    await stack.natsServer.kill();
    await rm(stack.natsServer.store, { recursive: true });
    await stack.natsServer.start();
    await busHolds(500);
    await append(50, 1);
    await busHolds(510);
    expect(await readBus(stack.nats)).toEqual(await readLog());
    expect(relay.counts().recreated).toBe(2);
  });

  it('refills a store that was put back to an older copy', async () => {
    startRelay();
    await append(0, 30);
    await busHolds(300);
    const copy = `${stack.natsServer.store}.old`;
    await stack.natsServer.stop();
    await cp(stack.natsServer.store, copy, { recursive: true });
    await stack.natsServer.start();
    await append(30, 20);
    await busHolds(500);
    await stack.natsServer.kill();
    await rm(stack.natsServer.store, { recursive: true });
    await cp(copy, stack.natsServer.store, { recursive: true });
    await stack.natsServer.start();
    await busHolds(500);
    expect(await readBus(stack.nats)).toEqual(await readLog());
    await rm(copy, { recursive: true });
  });

  it('refills a stream that somebody deleted, or made anew', async () => {
    startRelay({ checkMs: 100, sweepMs: 50 });
    await append(0, 20);
    await busHolds(200);
    const manager = await jetstreamManager(stack.nats);
    const { config } = await manager.streams.info(EVENT_STREAM);
    await manager.streams.delete(EVENT_STREAM);
    await busHolds(200);
    await manager.streams.delete(EVENT_STREAM);
    await manager.streams.add({ ...config, name: EVENT_STREAM });
    await busHolds(200);
    expect(await readBus(stack.nats)).toEqual(await readLog());
  });

  it('starts a new stream after a logical restore of the database', async () => {
    const before = startRelay();
    await append(0, 10);
    await busHolds(100);
    await before.stop();
    await stack.pool.query('select es.after_restore()');
    await append(10, 10);
    startRelay();
    await busHolds(200);
    expect(await readBus(stack.nats)).toEqual(await readLog());
  });
});

describe.each([120_000, 200])('two relays at once, dedupe window %i ms', (duplicateWindowMs) => {
  it('leave the log on the bus: in order, complete, nothing twice, through a kill -9', async () => {
    const seed = Date.now() % 100_000;
    console.log(`seed ${seed}`);
    const random = seededRandom(seed);
    const errors: string[] = [];
    const stalled: Partial<RelayOptions> = {
      batchEventsMax: 32,
      sweepMs: 20,
      timeoutMs: 1000,
      duplicateWindowMs,
      beforePublish: () => delay(random() < 0.15 ? random() * 60 : 0),
      onError: (error) => errors.push(String(error)),
    };
    const a = startRelay({ ...stalled, lockName: 'a' });
    const other = await stack.natsServer.connect();
    const b = startRelay({ ...stalled, lockName: 'b', nats: other });
    const writing = (async () => {
      for (let round = 0; round < 40; round += 1) await append(round * 5, 5, 10);
    })();
    await eventually(async () => (await countBus(stack.nats)) > 300);
    await stack.natsServer.kill();
    await stack.natsServer.start();
    await writing;
    await busHolds(2000);
    await Promise.all([a.stop(), b.stop()]);
    const [bus, log] = [await readBus(stack.nats), await readLog()];
    console.log({ a: a.counts(), b: b.counts(), errors: new Set(errors).size });
    expect(log).toHaveLength(2000);
    expect(bus).toEqual(log);
    expect(a.counts().published + b.counts().published).toBeGreaterThan(0);
  }, 90_000);
});
