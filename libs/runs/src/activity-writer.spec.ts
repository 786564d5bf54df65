import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createRedactor } from '@hangar/service-kit';
import type { HarnessEvent } from '@hangar/harness-adapters';
import { activitySubject, type ActivityEntry, type ActivityLog } from '@hangar/messaging';
import { createMemoryActivityLog } from '@hangar/messaging/memory';
import type { NatsConnection } from '@nats-io/nats-core';
import { createActivityWriter, type ActivityWriter } from './activity-writer.ts';

const SESSION = 'ses-1a2b3c4d';
const START = { turn: 0, part: 0, seq: 0 };
const SECRET = 'hunter2-hunter2';
const HIDING = createRedactor([{ name: 'KEY', value: SECRET }]);
const ITEMS_MAX = 20_000;

/** Only what waits is faked. */
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
});
afterEach(() => {
  jest.useRealTimers();
});

const message = (text: string): HarnessEvent => ({ type: 'message', role: 'assistant', text });
const delta = (text: string): HarnessEvent => ({ type: 'text_delta', text });

interface Bench {
  told: Record<string, unknown>[];
  appended: number[];
  isAway: boolean;
  /** What the log says of its newest item, when not what is there. */
  known: number | null;
  open(isAgain?: boolean, part?: number): Promise<ActivityWriter>;
  texts(): Promise<unknown[]>;
  entries(): Promise<ActivityEntry[]>;
}

function createBench(redact = createRedactor([])): Bench {
  const memory = createMemoryActivityLog();
  const bench: Bench = {
    told: [],
    appended: [],
    isAway: false,
    known: null,
    open: (isAgain = false, part = 0) => {
      const nats = {
        isClosed: () => false,
        publish: (subject: string, payload: string) => {
          expect(subject).toBe(activitySubject(SESSION));
          bench.told.push(JSON.parse(payload) as Record<string, unknown>);
        },
      };
      const activity: ActivityLog = {
        ...memory,
        lastSeq: async (...of) => bench.known ?? memory.lastSeq(...of),
        append: async (id, entries) => {
          if (bench.isAway) throw new Error('the database is away');
          bench.appended.push(entries.length);
          return memory.append(id, entries);
        },
      };
      return createActivityWriter({
        activity,
        nats: nats as unknown as NatsConnection,
        sessionId: SESSION,
        turn: 3,
        part,
        isAgain,
        now: () => new Date(),
        redact,
      });
    },
    entries: () => memory.read(SESSION, START, ITEMS_MAX * 2),
    texts: async () => (await bench.entries()).map(({ item }) => item['text'] ?? item['type']),
  };
  return bench;
}

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
const deltas = (bench: Bench) => bench.told.flatMap((t) => ('delta' in t ? [t['delta']] : []));

describe('what an agent does', () => {
  it('is written in order, gathered for 30 ms, and its newest place is told after that', async () => {
    const bench = createBench();
    const writer = await bench.open();
    writer.say(message('one'));
    writer.say({ type: 'tool_started', id: 'c1', name: 'Bash', input: { command: 'ls' } });
    writer.say({ type: 'tool_finished', id: 'c1', output: 'a.ts', isError: true, exitCode: 2 });
    await pass(29);
    expect(bench.appended).toEqual([]);
    await pass(1);
    expect(bench.appended).toEqual([3]);
    expect(bench.told).toEqual([{ turn: 3, seq: 3 }]);
    expect((await bench.entries()).map(({ seq, item }) => [seq, item])).toEqual([
      [1, { type: 'message', text: 'one' }],
      [2, { type: 'tool_started', call_id: 'c1', tool: 'Bash', input: '{"command":"ls"}' }],
      [3, { type: 'tool_finished', call_id: 'c1', output: 'a.ts', is_error: true, exit_code: 2 }],
    ]);
    await writer.close();
  });

  it('is numbered by its output alone: what is no activity takes no number', async () => {
    const bench = createBench();
    const writer = await bench.open();
    const quiet: HarnessEvent[] = [
      { type: 'conversation', id: 'c' },
      { type: 'returned', messageId: 'msg-2' },
      { type: 'ask_closed', id: 'a' },
      delta('o'),
    ];
    for (const event of quiet) writer.say(event);
    writer.say({ type: 'delivered', messageId: 'msg-1' });
    await writer.close();
    expect((await bench.entries()).map(({ seq, item }) => [seq, item['type']])).toEqual([
      [1, 'delivered'],
    ]);
  });

  it('is redacted and bounded, in what is written and in what is told live [Z2]', async () => {
    const bench = createBench(HIDING);
    const writer = await bench.open();
    writer.say(delta(`the key is ${SECRET}.`));
    await pass(30);
    writer.say(message(`the key is ${SECRET}`));
    writer.say({ type: 'tool_started', id: 'c1', name: 'Bash', input: { command: SECRET } });
    writer.say({ type: 'tool_finished', id: 'c1', output: 'x'.repeat(100_000), isError: false });
    await writer.close();
    const all = JSON.stringify([bench.told, await bench.entries()]);
    expect(all).not.toContain(SECRET);
    expect(all.match(/\[redacted KEY\]/g)).toHaveLength(3);
    expect(all.length).toBeLessThan(17_000);
  });

  it('beyond 20,000 items is cut, and the cut is said, once', async () => {
    const bench = createBench();
    // All but the last are there already: the log in memory is slow with so many.
    bench.known = ITEMS_MAX - 1;
    const writer = await bench.open(true);
    for (let i = 1; i <= ITEMS_MAX + 5; i += 1) writer.say({ type: 'notice', text: `${i}` });
    await writer.close();
    expect((await bench.entries()).map(({ seq, item }) => [seq, item['text']])).toEqual([
      [ITEMS_MAX, `${ITEMS_MAX}`],
      [ITEMS_MAX + 1, expect.stringContaining('more than 20000 things')],
    ]);
  });
});

describe('text as it is being written', () => {
  it('is told live in pieces, and kept by nobody', async () => {
    const bench = createBench();
    const writer = await bench.open();
    for (const text of ['Hel', 'lo ', 'wor']) writer.say(delta(text));
    await pass(30);
    writer.say(delta('ld'));
    await pass(30);
    expect(deltas(bench)).toEqual(['Hello wor', 'ld']);
    expect(await bench.entries()).toEqual([]);
    await writer.close();
  });

  it('is over with its message: what was not told of it yet is told whole', async () => {
    const bench = createBench();
    const writer = await bench.open();
    writer.say(delta('Hel'));
    writer.say(message('Hello'));
    await writer.close();
    expect(deltas(bench)).toEqual([]);
    expect(await bench.texts()).toEqual(['Hello']);
  });
});

describe('a secret in text as it is being written [Z2]', () => {
  const secret = `it is ${SECRET}, and as base64 ${btoa(SECRET)}; ${SECRET.slice(0, 5)} is none.`;
  const whole = HIDING(secret);

  it('is hidden wherever the text is cut, and nothing else is', async () => {
    for (let cut = 0; cut <= secret.length; cut += 1) {
      const bench = createBench(HIDING);
      const writer = await bench.open();
      writer.say(delta(secret.slice(0, cut)));
      await pass(30);
      writer.say(delta(secret.slice(cut)));
      await pass(30);
      expect([cut, deltas(bench).join('')]).toEqual([cut, whole]);
      await writer.close();
    }
  });

  it('is hidden when the text comes character by character', async () => {
    const bench = createBench(HIDING);
    const writer = await bench.open();
    for (const character of secret) {
      writer.say(delta(character));
      await pass(30);
    }
    expect(deltas(bench).join('')).toBe(whole);
    await writer.close();
  });

  it('is held back until it is known to be none, and dropped where its text ends before that', async () => {
    const bench = createBench(HIDING);
    const writer = await bench.open();
    writer.say(delta(`key ${SECRET.slice(0, 5)}`));
    await pass(30);
    expect(deltas(bench)).toEqual(['key ']);
    writer.say(delta('!'));
    await pass(30);
    expect(deltas(bench)).toEqual(['key ', `${SECRET.slice(0, 5)}!`]);
    writer.say(delta(SECRET.slice(0, 5)));
    await writer.close();
    expect(deltas(bench)).toHaveLength(2);
  });
});

describe('output that is read again [M6]', () => {
  const OUTPUT = [delta('o'), message('one'), delta('t'), message('two'), delta('th')];

  it('is written once, and no piece of text is told twice', async () => {
    const bench = createBench();
    const first = await bench.open();
    for (const event of OUTPUT) first.say(event);
    await first.close();
    const told = [...bench.told];
    const second = await bench.open(true);
    for (const event of OUTPUT) second.say(event);
    await pass(100);
    expect(bench.told).toEqual(told);
    second.say(delta('ree'));
    second.say(message('three'));
    second.say(delta('fo'));
    await second.close();
    expect(await bench.texts()).toEqual(['one', 'two', 'three']);
    expect(deltas(bench)).toEqual(['th', 'fo']);
  });

  it('goes on after what was written, wherever that ended', async () => {
    for (let written = 0; written <= 2; written += 1) {
      const bench = createBench();
      const first = await bench.open();
      for (const event of [message('one'), message('two')].slice(0, written)) first.say(event);
      await first.close();
      const second = await bench.open(true);
      for (const event of OUTPUT) second.say(event);
      await second.close();
      expect(await bench.texts()).toEqual(['one', 'two']);
    }
  });

  it('each process of a run has numbers of its own', async () => {
    const bench = createBench();
    for (const part of [0, 1]) {
      const writer = await bench.open(false, part);
      writer.say(message(`part ${part}`));
      await writer.close();
    }
    expect((await bench.entries()).map(({ part, seq }) => [part, seq])).toEqual([
      [0, 1],
      [1, 1],
    ]);
  });
});

describe('while the database is away', () => {
  it('nothing is lost: it is written in order once it is back, also when nothing more is said', async () => {
    const bench = createBench();
    const writer = await bench.open();
    bench.isAway = true;
    writer.say(message('one'));
    await pass(30);
    writer.say(message('two'));
    await pass(2_000);
    expect(await bench.texts()).toEqual([]);
    expect(bench.told).toEqual([]);
    bench.isAway = false;
    await pass(1_000);
    expect(await bench.texts()).toEqual(['one', 'two']);
    expect(bench.told).toEqual([{ turn: 3, seq: 2 }]);
    await writer.close();
  });

  it('the end fails, so that the output is read again, and nothing is tried after it', async () => {
    const bench = createBench();
    const writer = await bench.open();
    bench.isAway = true;
    writer.say(message('one'));
    await pass(30);
    await expect(writer.close()).rejects.toThrow('the database is away');
    bench.isAway = false;
    await pass(10_000);
    expect(bench.appended).toEqual([]);
    const again = await bench.open(true);
    again.say(message('one'));
    await again.close();
    expect(await bench.texts()).toEqual(['one']);
  });

  it('many are written in batches of 200, one after the other', async () => {
    const bench = createBench();
    const writer = await bench.open();
    for (let i = 0; i < 450; i += 1) writer.say(message(`${i}`));
    await writer.close();
    expect(bench.appended).toEqual([200, 200, 50]);
    expect(await bench.texts()).toEqual(Array.from({ length: 450 }, (_, i) => `${i}`));
    expect(bench.told.map((t) => t['seq'])).toEqual([200, 400, 450]);
  });
});
