import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { HangarError } from '@hangar/contracts';
import { eventually, startTestStack, type TestStack } from '@hangar/testing';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { createConsumer, type Consumer, type ConsumerOptions } from './consumer.ts';
import type { RecordedEvent } from './event.ts';
import type { EventStore } from './event-store.ts';
import { encodeEvent } from './jetstream/envelope.ts';
import { EVENT_STREAM, eventSubject, eventSubjects } from './jetstream/subjects.ts';
import { createNatsWake } from './jetstream/wake.ts';
import { createRelay, type Relay } from './relay.ts';
import type { Transaction } from './transaction.ts';
import { sampleEvent, sampleMeta, sampleStore } from './testing/sample.ts';

let stack: TestStack;
let store: EventStore;
let relay: Relay;
const consumers: Consumer[] = [];
const meta = sampleMeta();
let names = 0;

beforeAll(async () => {
  stack = await startTestStack({ poolMax: 30 });
  const wake = createNatsWake(stack.nats);
  store = sampleStore(stack.pool, wake);
  relay = createRelay({ pool: stack.pool, nats: stack.nats, wake });
  relay.start();
});
afterEach(async () => {
  await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
});
afterAll(async () => {
  await relay.stop();
  await stack.close();
});

function start(
  options: Pick<ConsumerOptions, 'handle'> & Partial<ConsumerOptions>,
): Consumer & { name: string } {
  const name = options.name ?? `test-${(names += 1)}`;
  const consumer = createConsumer({
    name,
    pool: stack.pool,
    nats: stack.nats,
    filter: eventSubjects('session'),
    readStream: store.readStream,
    retryMs: () => 20,
    ...options,
  });
  consumers.push(consumer);
  consumer.start();
  return { ...consumer, name };
}

const append = async (stream: string, from: number, count: number): Promise<void> => {
  const events = Array.from({ length: count }, (_, i) => sampleEvent(from + i + 1));
  await store.append(stream, from, events, { meta });
};

const place = (event: RecordedEvent): string => `${event.stream}@${event.version}`;
const versions = (stream: string, ...list: number[]): string[] =>
  list.map((version) => `${stream}@${version}`);

/** Only the streams of one test, since every consumer gets the whole log. */
const collector = (prefix: string) => {
  const seen: string[] = [];
  return {
    seen,
    handle: async (event: RecordedEvent, tx: Transaction): Promise<void> => {
      if (event.stream.startsWith(prefix)) tx.onCommit(() => seen.push(place(event)));
    },
  };
};

describe('consumer', () => {
  it('applies every event once and in order, also events that came before it', async () => {
    await append('session/a1', 0, 3);
    const { seen, handle } = collector('session/a');
    start({ handle });
    await eventually(() => seen.length === 3);
    await append('session/a1', 3, 2);
    await eventually(() => seen.length === 5);
    expect(seen).toEqual(versions('session/a1', 1, 2, 3, 4, 5));
  });

  it('commits what the handler appends together with the mark', async () => {
    start({
      handle: async (event, tx) => {
        if (event.stream !== 'session/b') return;
        const caused = [{ ...sampleEvent(1), type: 'RunRequested' }];
        await store.append(`run/of-${event.version}`, 0, caused, { meta, tx });
      },
    });
    await append('session/b', 0, 2);
    await eventually(async () => (await store.load('run/of-2')).version === 1);
    expect((await store.load('run/of-1')).version).toBe(1);
  });

  it('ignores duplicates, mends order, and fills gaps from the log', async () => {
    const { seen, handle } = collector('session/c');
    await append('session/c1', 0, 6);
    const consumer = start({ handle });
    await eventually(() => seen.length === 6);
    const { events } = await store.load('session/c1');
    const js = jetstream(stack.nats);
    await relay.stop();
    await append('session/c2', 0, 9);
    const more = (await store.load('session/c2')).events;
    const order = [2, 0, 2, 1, 5, 4, 3, 3, 8].map((i) => more[i]);
    const sent = [...events.slice(2), ...order].filter((event) => event !== undefined);
    for (const event of sent) {
      const { headers, body } = encodeEvent(event);
      await js.publish(eventSubject(event), body, { headers });
    }
    await eventually(() => seen.length >= 15);
    await eventually(async () => (await pendingOf(consumer.name)) === 0);
    const second = seen.slice(6);
    expect(second).toEqual(versions('session/c2', 1, 2, 3, 4, 5, 6, 7, 8, 9));
    expect(consumer.counts().gapsFilled).toBeGreaterThan(0);
    relay = createRelay({ pool: stack.pool, nats: stack.nats, wake: createNatsWake(stack.nats) });
    relay.start();
  });

  const pendingOf = async (name: string): Promise<number> => {
    const manager = await jetstreamManager(stack.nats);
    const found = await manager.consumers.info(EVENT_STREAM, name);
    return found.num_pending + found.num_ack_pending;
  };

  it('tries a failing event again, in order, and applies it once', async () => {
    const { seen, handle } = collector('session/d');
    let failures = 0;
    start({
      handle: async (event, tx) => {
        if (place(event) === 'session/d1@2' && failures < 3) {
          failures += 1;
          throw new Error('not yet');
        }
        await handle(event, tx);
      },
    });
    await append('session/d1', 0, 4);
    await eventually(() => seen.length >= 4);
    expect(failures).toBe(3);
    expect(seen).toEqual(versions('session/d1', 1, 2, 3, 4));
  });

  it('parks a poison event with what follows in its stream, others flow; retry and skip', async () => {
    const { seen, handle } = collector('session/e');
    let isPoison = true;
    const parked: string[] = [];
    const consumer = start({
      attemptsMax: 3,
      onParked: (event) => parked.push(place(event)),
      handle: async (event, tx) => {
        if (place(event) === 'session/e1@2' && isPoison) throw new Error('poison');
        if (place(event) === 'session/e2@1') throw new HangarError('invalid', 'cannot be read');
        await handle(event, tx);
      },
    });
    for (let version = 0; version < 4; version += 1) await append('session/e1', version, 1);
    await append('session/e2', 0, 2);
    await append('session/e3', 0, 2);
    await eventually(async () => (await consumer.parked.list()).length === 5);
    const list = await consumer.parked.list();
    expect(list.filter((item) => item.stream === 'session/e1')).toMatchObject([
      { version: 2, attempts: 3, error: 'Error: poison', type: 'TurnFinished' },
      { version: 3, attempts: 0 },
      { version: 4, attempts: 0 },
    ]);
    expect(parked.toSorted()).toEqual(['session/e1@2', 'session/e2@1']);
    expect(seen.toSorted()).toEqual([
      ...versions('session/e1', 1),
      ...versions('session/e3', 1, 2),
    ]);

    await expect(consumer.parked.retry('session/e1')).rejects.toThrow('poison');
    isPoison = false;
    expect(await consumer.parked.retry('session/e1')).toBe(3);
    await expect(consumer.parked.skip('session/e2', 2)).rejects.toMatchObject({ code: 'conflict' });
    await consumer.parked.skip('session/e2', 1);
    expect(await consumer.parked.retry('session/e2')).toBe(1);
    await append('session/e1', 4, 1);
    await eventually(() => seen.includes('session/e1@5'));
    expect(seen.filter((text) => text.includes('/e1'))).toEqual(
      versions('session/e1', 1, 2, 3, 4, 5),
    );
    expect(seen.filter((text) => text.includes('/e2'))).toEqual(versions('session/e2', 2));
    expect(await consumer.parked.list()).toEqual([]);
  });

  it('applies the part of a gap before a poison event, and parks only that event', async () => {
    const { seen, handle } = collector('session/f');
    await append('session/f1', 0, 5);
    const consumer = start({
      attemptsMax: 2,
      handle: async (event, tx) => {
        if (place(event) === 'session/f1@4') throw new Error('poison');
        await handle(event, tx);
      },
    });
    await eventually(async () => (await consumer.parked.list()).length === 2);
    expect(seen).toEqual(versions('session/f1', 1, 2, 3));
    const { rows } = await stack.pool.query<{ version: number }>(
      `select version::int as version from es.inbox where consumer = $1 and stream_id = $2`,
      [consumer.name, 'session/f1'],
    );
    expect(rows).toEqual([{ version: 5 }]);
  });

  it('makes its durable anew when it is gone', async () => {
    const { seen, handle } = collector('session/g');
    const consumer = start({ handle, watchdogMs: 200 });
    await append('session/g1', 0, 1);
    await eventually(() => seen.length === 1);
    const manager = await jetstreamManager(stack.nats);
    await manager.consumers.delete(EVENT_STREAM, consumer.name);
    await append('session/g1', 1, 1);
    await eventually(() => seen.length === 2);
    expect(consumer.counts().made).toBeGreaterThan(1);
  });

  it('refuses a filter by event type, which would see gaps only', () => {
    const filter = 'hangar.evt.session.*.TurnFinished';
    expect(() => start({ handle: async () => undefined, filter })).toThrow('whole streams');
  });
});
