import { randomUUID } from 'node:crypto';
import { cp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, startTestStack, type TestStack } from '@hangar/testing';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { createConsumer } from './consumer.ts';
import { encodeEvent } from './jetstream/envelope.ts';
import { EVENT_STREAM, eventSubjects } from './jetstream/subjects.ts';
import { createNatsWake } from './jetstream/wake.ts';
import { createRelay } from './relay.ts';
import { countBus } from './testing/bus-copy.ts';
import { sampleEvent, sampleMeta, sampleStore } from './testing/sample.ts';

let stack: TestStack;
const running: { stop(): Promise<void> }[] = [];
const meta = sampleMeta();
beforeAll(async () => {
  stack = await startTestStack();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((part) => part.stop()));
});
afterAll(() => stack.close());

describe('a JetStream store that was put back to an older copy', () => {
  it('is noticed by the consumer, which loses nothing and applies nothing twice', async () => {
    const wake = createNatsWake(stack.nats);
    const store = sampleStore(stack.pool, wake);
    const relay = createRelay({ pool: stack.pool, nats: stack.nats, wake, timeoutMs: 1000 });
    relay.start();
    const seen: number[] = [];
    const consumer = createConsumer({
      name: 'rolled-back',
      pool: stack.pool,
      nats: stack.nats,
      filter: eventSubjects('session', 'back'),
      readStream: store.readStream,
      watchdogMs: 500,
      handle: async (event) => void seen.push(event.version),
    });
    consumer.start();
    running.push(consumer, relay);
    const append = (from: number, count: number) =>
      store.append(
        'session/back',
        from,
        Array.from({ length: count }, () => sampleEvent(0)),
        { meta },
      );
    await append(0, 20);
    await eventually(() => seen.length === 20);
    const copy = `${stack.natsServer.store}.old`;
    await stack.natsServer.stop();
    await cp(stack.natsServer.store, copy, { recursive: true });
    await stack.natsServer.start();
    await append(20, 50);
    await eventually(() => seen.length === 70);
    await stack.natsServer.kill();
    await rm(stack.natsServer.store, { recursive: true });
    await cp(copy, stack.natsServer.store, { recursive: true });
    await stack.natsServer.start();
    await append(70, 5);
    await eventually(() => seen.length === 75, { withinMs: 15_000 });
    await eventually(async () => (await countBus(stack.nats)) >= 75, { withinMs: 15_000 });
    expect(seen).toEqual(Array.from({ length: 75 }, (_, i) => i + 1));
    await rm(copy, { recursive: true });
  });
});

describe('a durable that stands behind the end of its stream', () => {
  it('is made anew by the watchdog, since old servers deliver nothing to it', async () => {
    const wake = createNatsWake(stack.nats);
    const store = sampleStore(stack.pool, wake);
    const relay = createRelay({ pool: stack.pool, nats: stack.nats, wake, timeoutMs: 1000 });
    relay.start();
    const seen: string[] = [];
    const consumer = createConsumer({
      name: 'stuck',
      pool: stack.pool,
      nats: stack.nats,
      filter: eventSubjects(),
      readStream: store.readStream,
      watchdogMs: 300,
      handle: async (event) => {
        if (event.aggregate === 'run') seen.push(`${event.stream}@${event.version}`);
      },
    });
    const events = Array.from({ length: 20 }, () => sampleEvent(0));
    await store.append('run/run-1', 0, events, { meta });
    consumer.start();
    running.push(consumer, relay);
    await eventually(() => seen.length === 20);
    const manager = await jetstreamManager(stack.nats);
    const position = async () => (await manager.consumers.info(EVENT_STREAM, 'stuck')).delivered;
    const before = (await position()).stream_seq;
    await relay.stop();
    await stack.natsServer.stop();
    const messages = join(stack.natsServer.store, 'jetstream/$G/streams', EVENT_STREAM, 'msgs');
    for (const file of await readdir(messages)) await rm(join(messages, file));
    await stack.natsServer.start();
    const { state } = await eventually(() =>
      manager.streams.info(EVENT_STREAM).catch(() => undefined),
    );
    expect(state.last_seq).toBeLessThan(before);
    // Not from the log, so that only the bus can bring it.
    const [first] = (await store.load('run/run-1')).events;
    if (!first) throw new Error('nothing was appended');
    const { headers, body } = encodeEvent({ ...first, stream: 'run/run-2', id: randomUUID() });
    await jetstream(stack.nats).publish('hangar.evt.run.run-2.TurnFinished', body, { headers });
    await eventually(() => seen.includes('run/run-2@1'));
    expect(seen).toHaveLength(21);
    expect(consumer.counts().made).toBeGreaterThan(1);
  });
});
