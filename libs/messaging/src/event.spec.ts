import { describe, expect, it } from '@jest/globals';
import { HangarError } from '@hangar/contracts';
import { prepareAppend } from './append-request.ts';
import { checkEventType, compareCursors, newEventId, parseStream, streamName } from './event.ts';
import type { RecordedEvent } from './event.ts';
import { hashBody } from './command-handler.ts';
import { decodeEvent, decodePosition, encodeEvent } from './jetstream/envelope.ts';
import { checkFilter, eventSubject, eventSubjects } from './jetstream/subjects.ts';
import { sampleMeta } from './testing/sample.ts';
import { createUpcast } from './upcast.ts';

const event = (over: Partial<RecordedEvent> = {}): RecordedEvent => ({
  stream: 'session/ses-1a2b3c4d',
  aggregate: 'session',
  version: 7,
  id: '0195f9c0-0000-7000-8000-000000000001',
  type: 'TurnFinished',
  schema: 2,
  data: { text: 'Grüße\n"quoted"', list: [1, null] },
  meta: { actor: 'owner:Zoë\n', cause: null, correlation: 'c-1', traceparent: '00-a-b-01' },
  at: '2031-02-03T04:05:06.789Z',
  position: { fence: '9007199254740993', position: '12' },
  ...over,
});

describe('streams and subjects', () => {
  it('name the aggregate and the id, and are read back', () => {
    expect(streamName('session', 'ses-1')).toBe('session/ses-1');
    expect(parseStream('environment/node_22-a')).toEqual({
      aggregate: 'environment',
      id: 'node_22-a',
    });
    expect(eventSubject(event())).toBe('hangar.evt.session.ses-1a2b3c4d.TurnFinished');
  });

  it.each(['a.b', 'a b', '*', '>', '', 'a/b', 'x'.repeat(101), 'ä'])(
    'refuse the id "%s", which does not fit into a subject',
    (id) => {
      expect(() => streamName('session', id)).toThrow(HangarError);
      expect(() => parseStream(`session/${id}`)).toThrow(HangarError);
    },
  );

  it('refuse unknown aggregates and event types with dots', () => {
    expect(() => parseStream('job/job-1')).toThrow('is not the name of a stream');
    expect(() => checkEventType('a.b')).toThrow('is not an event type');
  });

  it('filter by everything, an aggregate or an id, never by a type', () => {
    for (const filter of [eventSubjects(), eventSubjects('run'), eventSubjects('run', 'run-1')]) {
      expect(() => checkFilter(filter)).not.toThrow();
    }
    for (const filter of ['hangar.evt.run.*.RunFinished', 'hangar.>', 'hangar.evt.*.x.>']) {
      expect(() => checkFilter(filter)).toThrow('whole streams');
    }
  });
});

describe('event ids and cursors', () => {
  it('sort ids by time', () => {
    const ids = [1_000, 2_000, 1_900_000_000_000].map((ms) => newEventId(ms));
    expect(ids.toSorted()).toEqual(ids);
    expect(ids[2]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('compare cursors as numbers, also above 53 bits and across digit boundaries', () => {
    const big = { fence: '9007199254740993', position: '1' };
    expect(compareCursors({ fence: '9', position: '5' }, { fence: '10', position: '1' })).toBe(-1);
    expect(compareCursors(big, { ...big, fence: '9007199254740992' })).toBe(1);
    expect(compareCursors(big, { ...big, position: '10' })).toBe(-1);
    expect(compareCursors(big, { ...big })).toBe(0);
  });
});

describe('envelope', () => {
  it('carries every field there and back', () => {
    const { headers, body } = encodeEvent(event());
    expect(decodeEvent({ headers, string: () => body })).toEqual(event());
    const caused = event({ meta: { actor: 'a', cause: 'e-1', correlation: 'c' } });
    const again = encodeEvent(caused);
    expect(decodeEvent({ headers: again.headers, string: () => again.body })).toEqual(caused);
  });

  it('keeps the body to the data alone', () => {
    expect(JSON.parse(encodeEvent(event()).body)).toEqual(event().data);
  });

  it('refuses what is not an event', () => {
    expect(() => decodeEvent({ string: () => '{}' })).toThrow('not an event of hangar');
    expect(() => decodePosition('12')).toThrow('position');
  });
});

describe('upcasting', () => {
  const upcast = createUpcast({
    TurnFinished: {
      schema: 3,
      steps: { 1: (d) => ({ ...d, one: 1 }), 2: (d) => ({ ...d, two: 2 }) },
    },
  });
  it('chains the steps from the stored schema to the current one', () => {
    expect(upcast(event({ schema: 1, data: {} })).data).toEqual({ one: 1, two: 2 });
    expect(upcast(event({ schema: 2, data: {} }))).toMatchObject({ schema: 3, data: { two: 2 } });
    const current = event({ schema: 3 });
    expect(upcast(current)).toBe(current);
  });
  it('fails closed on newer schemas and unknown types', () => {
    expect(() => upcast(event({ schema: 4 }))).toThrow('newer than this program');
    expect(() => upcast(event({ type: 'Unheard' }))).toThrow('newer than this program');
  });
  it('passes unknown types for subscribers', () => {
    const unheard = event({ type: 'Unheard' });
    expect(createUpcast({}, 'pass')(unheard)).toBe(unheard);
  });
});

describe('limits', () => {
  const rules = { owns: ['session'] as const, validate: () => undefined };
  const options = { meta: sampleMeta() };
  it('bound the size of an event and the events of an append', () => {
    const large = [{ type: 'T', data: { text: 'x'.repeat(600_000) } }];
    expect(() => prepareAppend('session/s', large, options, rules)).toThrow('larger than');
    const many = Array.from({ length: 257 }, () => ({ type: 'T', data: {} }));
    expect(() => prepareAppend('session/s', many, options, rules)).toThrow('257 events');
  });
  it('hash equal bodies equally, whatever the order of their keys', () => {
    expect(hashBody({ a: 1, b: [{ c: 2, d: null }] })).toBe(
      hashBody({ b: [{ d: null, c: 2 }], a: 1 }),
    );
    expect(hashBody({ a: [1, 2] })).not.toBe(hashBody({ a: [2, 1] }));
  });
});
