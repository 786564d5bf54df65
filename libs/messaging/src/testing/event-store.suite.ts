import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { START } from '../event.ts';
import type { EventStore } from '../event-store.ts';
import { sampleEvent, sampleFold, sampleMeta } from './sample.ts';

let streams = 0;
const newStream = (): string => `session/ses-${(streams += 1)}`;

/** What every event store promises. The factory gives a store that owns session and run. */
export function describeEventStore(name: string, factory: () => Promise<EventStore>): void {
  describe(`event store: ${name}`, () => {
    let store: EventStore;
    beforeAll(async () => {
      store = await factory();
    });
    const meta = sampleMeta();
    const append = (stream: string, expected: number, count = 1) =>
      store.append(
        stream,
        expected,
        Array.from({ length: count }, (_, i) => sampleEvent(expected + i + 1)),
        { meta },
      );

    it('loads what was appended, in order, with meta, time and versions', async () => {
      const stream = newStream();
      const now = new Date('2031-02-03T04:05:06.789Z');
      const events = [sampleEvent(1), { ...sampleEvent(2), schema: 3 }];
      const result = await store.append(stream, 0, events, { meta, now });
      expect(result).toMatchObject({ kind: 'appended', version: 2 });
      const loaded = await store.load(stream);
      expect(loaded.version).toBe(2);
      expect(loaded.events).toMatchObject([
        { stream, aggregate: 'session', version: 1, schema: 1, meta, at: now.toISOString() },
        { version: 2, type: 'TurnFinished', schema: 3, data: events[1]?.data },
      ]);
    });

    it('knows nothing of a stream that is not there', async () => {
      expect(await store.load(newStream())).toEqual({ version: 0, events: [] });
    });

    it('answers conflict to a wrong expected version and appends nothing', async () => {
      const stream = newStream();
      await append(stream, 0, 2);
      expect(await append(stream, 0)).toEqual({ kind: 'conflict' });
      expect(await append(stream, 1)).toEqual({ kind: 'conflict' });
      expect(await append(stream, 3)).toEqual({ kind: 'conflict' });
      expect((await store.load(stream)).version).toBe(2);
    });

    it('lets one of many concurrent creators and appenders win', async () => {
      const stream = newStream();
      for (const expected of [0, 1]) {
        const results = await Promise.all(
          Array.from({ length: 8 }, () => append(stream, expected)),
        );
        expect(results.filter((result) => result.kind === 'appended')).toHaveLength(1);
        expect(results.filter((result) => result.kind === 'conflict')).toHaveLength(7);
      }
    });

    it('answers a repeated append of the same ids like the first one', async () => {
      const stream = newStream();
      const events = [sampleEvent(1, randomUUID()), sampleEvent(2, randomUUID())];
      const first = await store.append(stream, 0, events, { meta });
      await append(stream, 2);
      expect(await store.append(stream, 0, events, { meta })).toEqual(first);
      expect((await store.load(stream)).version).toBe(3);
    });

    it('refuses an id that stands elsewhere', async () => {
      const id = randomUUID();
      await store.append(newStream(), 0, [sampleEvent(1, id)], { meta });
      const again = store.append(newStream(), 0, [sampleEvent(1, id)], { meta });
      await expect(again).rejects.toMatchObject({ code: 'conflict' });
    });

    it('appends nothing to a closed stream, yet answers the repeated last append', async () => {
      const stream = newStream();
      const last = [sampleEvent(1, randomUUID())];
      const first = await store.append(stream, 0, last, { meta, close: true });
      expect(await append(stream, 1)).toEqual({ kind: 'closed' });
      expect(await store.append(stream, 0, last, { meta, close: true })).toEqual(first);
    });

    it('refuses streams of aggregates it does not own', async () => {
      const other = store.append('sandbox/sbx-1', 0, [sampleEvent(1)], { meta });
      await expect(other).rejects.toMatchObject({ code: 'forbidden' });
    });

    it('refuses events that break their contract', async () => {
      const bad = store.append(newStream(), 0, [{ type: 'Broken', data: {} }], { meta });
      await expect(bad).rejects.toMatchObject({ code: 'invalid' });
    });

    it('folds the state from the events', async () => {
      const stream = newStream();
      await append(stream, 0, 3);
      const loaded = await store.loadState(stream, sampleFold);
      expect(loaded).toEqual({ version: 3, state: { turns: 3, sum: 6 } });
      const absent = await store.loadState(newStream(), sampleFold);
      expect(absent).toEqual({ version: 0, state: sampleFold.initial });
    });

    it('reads pages of a stream', async () => {
      const stream = newStream();
      await append(stream, 0, 5);
      const page = await store.readStream(stream, 2, 2);
      expect(page.map((event) => event.version)).toEqual([2, 3]);
      expect(await store.readStream(stream, 6, 10)).toEqual([]);
    });

    it('feeds all streams in an order that follows versions, up to the head', async () => {
      const [a, b] = [newStream(), newStream()];
      const before = await store.head();
      await append(a, 0);
      await append(b, 0);
      await append(a, 1);
      const events = await store.feed(before, 10);
      expect(events.map((event) => [event.stream, event.version])).toEqual([
        [a, 1],
        [b, 1],
        [a, 2],
      ]);
      expect(await store.head()).toEqual(events.at(-1)?.position);
      expect(await store.feed(await store.head(), 10)).toEqual([]);
      expect((await store.feed(START, 1)).length).toBe(1);
    });

    it('handles a source event once, as the inbox says', async () => {
      const stream = newStream();
      const inbox = { consumer: 'policy', stream: 'run/run-1', version: 4 };
      const first = await store.append(stream, 0, [sampleEvent(1)], { meta, inbox });
      expect(first.kind).toBe('appended');
      const again = await store.append(stream, 1, [sampleEvent(2)], { meta, inbox });
      expect(again).toEqual({ kind: 'handled' });
      const next = { ...inbox, version: 5 };
      const later = await store.append(stream, 1, [sampleEvent(2)], { meta, inbox: next });
      expect(later.kind).toBe('appended');
    });

    it('answers a command once [M2]', async () => {
      const stream = newStream();
      const command = { id: randomUUID(), bodyHash: 'one', result: { turn: 1 } };
      expect(await store.findCommand(command.id, 'one')).toBeUndefined();
      await store.append(stream, 0, [sampleEvent(1)], { meta, command });
      const again = await store.append(stream, 1, [sampleEvent(2)], {
        meta,
        command: { ...command, result: { turn: 2 } },
      });
      expect(again).toEqual({ kind: 'answered', result: { turn: 1 } });
      const reused = { ...command, bodyHash: 'two' };
      const other = await store.append(stream, 1, [sampleEvent(2)], { meta, command: reused });
      expect(other).toEqual({ kind: 'key-reused' });
      expect(await store.findCommand(command.id, 'two')).toEqual({ kind: 'key-reused' });
      expect((await store.load(stream)).version).toBe(1);
    });

    it('does not store the answer of a command that met a conflict', async () => {
      const stream = newStream();
      await append(stream, 0);
      const command = { id: randomUUID(), bodyHash: 'one', result: 1 };
      const met = await store.append(stream, 0, [sampleEvent(1)], { meta, command });
      expect(met).toEqual({ kind: 'conflict' });
      expect(await store.findCommand(command.id, 'one')).toBeUndefined();
    });

    it('finds nothing wrong with its own log', async () => {
      expect(await store.verify()).toEqual([]);
    });
  });
}
