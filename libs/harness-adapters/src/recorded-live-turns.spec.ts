/** A recorded turn with people in it: a question, two decisions, two messages, one taken back. */
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type {
  Answer,
  HarnessEvent,
  HarnessName,
  ProtocolStep,
  TurnProtocol,
} from './harness-adapter.ts';
import { HARNESS_NAMES, harnessAdapter } from './registry.ts';
import { recordedLines, recordedTurn } from './testing/recorded-turn.ts';

const answer = (fields: Partial<Answer>): Answer => ({
  verdict: 'allow',
  answers: {},
  reason: '',
  ...fields,
});
const DENIED = answer({ verdict: 'deny', reason: 'not today' });

interface ReadLive {
  events: HarnessEvent[];
  keys: string[];
  told: ((protocol: TurnProtocol) => ProtocolStep)[];
}

/** What people do when they see an event: the same things as when the turn was recorded. */
function reactions(event: HarnessEvent, decisions: number): ReadLive['told'] {
  if (event.type === 'asked') {
    const { id, kind, questions } = event.ask;
    const given =
      kind === 'question'
        ? answer({ answers: { [questions[0]?.id ?? '']: 'Blue' } })
        : decisions === 1
          ? answer({})
          : DENIED;
    return [(protocol) => protocol.answer(id, given)];
  }
  if (event.type !== 'ask_closed' || decisions !== 1) return [];
  return [
    (protocol) => protocol.steer({ messageId: 'steer-1', text: 'one' }),
    (protocol) => protocol.steer({ messageId: 'steer-2', text: 'two' }),
    (protocol) => protocol.withdraw('steer-1'),
  ];
}

function asItCame(name: HarnessName): ReadLive {
  const protocol = harnessAdapter(name).protocol(recordedTurn(8, { asksLeave: true }));
  const read: ReadLive = { events: [], keys: protocol.open().map(({ key }) => key), told: [] };
  let decisions = 0;
  const take = ({ events, inputs }: ProtocolStep): void => {
    read.keys.push(...inputs.map(({ key }) => key));
    for (const event of events) {
      read.events.push(event);
      if (event.type === 'asked' && event.ask.kind === 'decision') decisions += 1;
      for (const tell of reactions(event, decisions)) {
        read.told.push(tell);
        take(tell(protocol));
      }
    }
  };
  for (const line of lines(name)) take(protocol.line(line));
  return read;
}

const lines = (name: HarnessName): string[] =>
  recordedLines(join(import.meta.dirname, name), 'live');

/** A service that restarted tells everything first; the output may be cut after `count` lines. */
function toldFirst(name: HarnessName, told: ReadLive['told'], count: number): ReadLive {
  const protocol = harnessAdapter(name).protocol(recordedTurn(8, { asksLeave: true }));
  const opened: ProtocolStep = { events: [], inputs: protocol.open() };
  const steps = [
    opened,
    ...told.map((tell) => tell(protocol)),
    ...lines(name)
      .slice(0, count)
      .map((line) => protocol.line(line)),
  ];
  return {
    events: steps.flatMap(({ events }) => events),
    keys: steps.flatMap(({ inputs }) => inputs.map(({ key }) => key)),
    told,
  };
}

const settled = (events: HarnessEvent[]): string[] =>
  events.flatMap((event) =>
    event.type === 'delivered' || event.type === 'returned'
      ? [`${event.type} ${event.messageId}`]
      : [],
  );
const sorted = (values: unknown[]): string[] =>
  values.map((value) => JSON.stringify(value)).toSorted();

/** The turn has a question, two decisions and messages that come while it works. */
const LIVE = HARNESS_NAMES.filter((name) => {
  const { steer, withdraw, approvals, questions } = harnessAdapter(name).capabilities;
  return steer && withdraw && approvals && questions;
});

describe.each(LIVE)('a recorded live turn of %s', (name) => {
  it('says what became of every message and every ask [M3] [M4] [A1] [A3]', () => {
    const { events } = asItCame(name);
    expect(settled(events)).toEqual([
      'delivered msg-00000008',
      'returned steer-1',
      'delivered steer-2',
    ]);
    const asks = events.flatMap((event) => (event.type === 'asked' ? [event.ask] : []));
    expect(asks.map(({ kind }) => kind)).toEqual(['question', 'decision', 'decision']);
    expect(asks[0]?.questions[0]).toMatchObject({
      text: 'Which one?',
      choices: [{ label: 'Red' }, { label: 'Blue' }],
    });
    expect(asks[2]?.questions[0]?.text).toContain('echo two > two.txt');
    expect(asks[2]?.tool).toMatchObject({ input: { command: expect.stringContaining('two.txt') } });
    const closed = events.flatMap((event) => (event.type === 'ask_closed' ? [event.id] : []));
    expect(closed).toEqual(asks.map(({ id }) => id));
    expect(events.at(-1)).toMatchObject({ type: 'ended', result: { outcome: 'succeeded' } });
  });

  it('says and writes the same when everything is told before the output is read [M6]', () => {
    const original = asItCame(name);
    const again = toldFirst(name, original.told, Infinity);
    expect(sorted(again.keys)).toEqual(sorted(original.keys));
    expect(sorted(again.events)).toEqual(sorted(original.events));
  });

  it('never settles a message twice or writes a key twice, wherever the output is cut', () => {
    const original = asItCame(name);
    for (let count = 0; count <= lines(name).length; count += 1) {
      const cut = toldFirst(name, original.told, count);
      expect(new Set(cut.keys).size).toBe(cut.keys.length);
      expect(original.keys).toEqual(expect.arrayContaining(cut.keys));
      expect(settled(original.events)).toEqual(expect.arrayContaining(settled(cut.events)));
    }
  });

  it('needs not be told of what it gave back: that may be another turn by now [M4]', () => {
    const original = asItCame(name);
    // Without the first message, and without the wish to have it back.
    const told = original.told.filter((_tell, index) => index !== 2 && index !== 4);
    const again = toldFirst(name, told, Infinity);
    const isOfOther = (text: string): boolean => !text.includes('steer-1');
    expect(again.keys.filter(isOfOther).toSorted()).toEqual(
      original.keys.filter(isOfOther).toSorted(),
    );
    expect(settled(again.events).filter(isOfOther)).toEqual(
      settled(original.events).filter(isOfOther),
    );
    expect(again.keys.filter((key) => !original.keys.includes(key))).toEqual([]);
  });
});
