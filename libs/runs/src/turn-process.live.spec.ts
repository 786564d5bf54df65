import { describe, expect, it } from '@jest/globals';
import type {
  Answer,
  Ask,
  HarnessEvent,
  ProtocolStep,
  TurnProtocol,
} from '@hangar/harness-adapters';
import { createFakeDriver, type FakeDriver, type FakeRun } from '@hangar/sandbox-drivers/fake';
import { eventually } from '@hangar/testing';
import { driveTurn, type DrivenTurn, type Told, type TurnRecorder } from './turn-process.ts';

const ID = 'conversation-1';
const NOTHING: Told = { messages: [], asks: [], deferring: null };
const USAGE = { input_tokens: 0, output_tokens: 0, cached_tokens: 0 };
const ask = (id: string): Ask => ({ id, kind: 'question', questions: [] });
const offered = (message_id: string, more: Partial<Told['messages'][number]> = {}) =>
  ({
    message_id,
    text: `please ${message_id}`,
    state: 'offered',
    wanted_back: false,
    ...more,
  }) as const;
const ALLOW = { verdict: 'allow', answers: [{ question_id: 'which', text: 'B' }], reason: '' };
const asked = (id: string, answer: typeof ALLOW | null = ALLOW) => ({ id, open: true, answer });

/** A line is a word and an id; what is told to it is written as it is, under a key of its own. */
function plainProtocol(heard: string[]): TurnProtocol {
  const write = (text: string): ProtocolStep => {
    heard.push(text);
    return { events: [], inputs: [{ key: text, line: text }] };
  };
  const events: Record<string, (id: string) => HarnessEvent> = {
    conversation: (id) => ({ type: 'conversation', id }),
    delivered: (messageId) => ({ type: 'delivered', messageId }),
    returned: (messageId) => ({ type: 'returned', messageId }),
    asked: (id) => ({ type: 'asked', ask: ask(id) }),
    closed: (id) => ({ type: 'ask_closed', id }),
    said: (text) => ({ type: 'message', role: 'assistant', text }),
    ended: (outcome) => ({
      type: 'ended',
      result: { outcome: outcome as 'succeeded', summary: '', usage: USAGE },
    }),
  };
  return {
    open: () => [{ key: 'prompt', line: 'prompt' }],
    line: (line) => {
      heard.push(`<${line}`);
      const [word = '', id = ''] = line.split(' ');
      const event = events[word]?.(id);
      return { events: event ? [event] : [], inputs: [] };
    },
    steer: ({ messageId }) => write(`steer ${messageId}`),
    withdraw: (id) => write(`withdraw ${id}`),
    answer: (id, { verdict, answers }) => {
      const { inputs } = write(`answer ${id} ${verdict} ${Object.values(answers).join()}`.trim());
      return { events: verdict === 'deny' ? [{ type: 'ask_closed', id }] : [], inputs };
    },
    defer: () => write('defer'),
    interrupt: () => [{ key: 'interrupt', line: 'interrupt' }],
    close: () => [{ key: 'eof', line: 'eof' }],
    exited: () => ({ outcome: 'failed', summary: '', usage: USAGE }),
  };
}

interface Bench {
  driver: FakeDriver;
  run: FakeRun;
  recorded: string[];
  /** What the protocol of the newest drive heard, in order; lines begin with `<`. */
  heard: string[];
  said: HarnessEvent[];
  drive(told?: Told, more?: Partial<TurnRecorder>): DrivenTurn;
  print(...lines: string[]): void;
  written(): string[];
  read(line: string): Promise<unknown>;
}

async function createBench(): Promise<Bench> {
  const driver = createFakeDriver({ run: () => undefined });
  const ref = await driver.create({
    id: 'sbx-1',
    sessionId: 'ses-1',
    cwd: '/workspace',
    envVars: {},
    network: 'open',
    mounts: [],
    resources: {},
  });
  await driver.runs.start(ref, 'run-1', { argv: ['agent'], cwd: '/', envVars: {} });
  const run = driver.run('sbx-1', 'run-1');
  if (!run) throw new Error('the run is not there');
  const recorded: string[] = [];
  const note =
    (what: string) =>
    async (id: string): Promise<void> =>
      void recorded.push(`${what} ${id}`);
  const bench: Bench = {
    driver,
    run,
    recorded,
    heard: [],
    said: [],
    drive: (told = NOTHING, more = {}) => {
      bench.heard = [];
      const driven = driveTurn(
        {
          io: driver,
          ref,
          processId: 'run-1',
          protocol: plainProtocol(bench.heard),
          expectedConversation: ID,
          record: {
            delivered: note('delivered'),
            returned: note('returned'),
            closed: note('closed'),
            answered: note('answered'),
            asked: async ({ id }) => {
              recorded.push(`asked ${id}`);
              return null;
            },
            tool: async () => undefined,
            ...more,
          },
          onSaid: (event) => void bench.said.push(event),
          stop: new AbortController().signal,
          signal: new AbortController().signal,
        },
        told,
      );
      driven.end.catch(() => undefined);
      return driven;
    },
    print: (...lines) => run.print(lines.map((line) => `${line}\n`).join('')),
    written: () => run.inputs.map(({ key }) => key),
    read: (line) => eventually(() => bench.heard.includes(`<${line}`)),
  };
  return bench;
}

const CONVERSATION = `conversation ${ID}`;
const FIRST = `<${CONVERSATION}`;

describe('a message for the running turn [M3]', () => {
  it('is told once the harness is in its conversation, before the next line, once', async () => {
    const bench = await createBench();
    const driven = bench.drive({ ...NOTHING, messages: [offered('msg-2')] });
    await eventually(() => bench.written().includes('prompt'));
    expect(bench.heard).toEqual([]);
    bench.print(CONVERSATION, 'said hello');
    await bench.read('said hello');
    driven.tell({ ...NOTHING, messages: [offered('msg-2'), offered('msg-3')] });
    driven.tell({ ...NOTHING, messages: [offered('msg-2'), offered('msg-3')] });
    expect(bench.heard).toEqual([FIRST, 'steer msg-2', '<said hello', 'steer msg-3']);
    await eventually(() => bench.written().at(-1) === 'steer msg-3');
    expect(bench.written()).toEqual(['prompt', 'steer msg-2', 'steer msg-3']);
  });

  it('is not told to a process in another conversation: that is handed off, and its successor gets it [R3]', async () => {
    const bench = await createBench();
    const driven = bench.drive({ ...NOTHING, messages: [offered('msg-2')] });
    bench.print('conversation other', 'said hello');
    expect(await driven.end).toMatchObject({ kind: 'wrong_conversation' });
    expect(bench.heard.filter((each) => !each.startsWith('<'))).toEqual([]);
  });

  it('that is wanted back is withdrawn, also when both are told at once [M4]', async () => {
    const bench = await createBench();
    const driven = bench.drive({ ...NOTHING, messages: [offered('msg-2', { wanted_back: true })] });
    bench.print(CONVERSATION);
    await eventually(() => bench.heard.length === 3);
    expect(bench.heard).toEqual([FIRST, 'steer msg-2', 'withdraw msg-2']);
    driven.tell({ ...NOTHING, messages: [offered('msg-2', { wanted_back: true })] });
    expect(bench.heard).toHaveLength(3);
  });

  it('what became of it is put on record, in the order of the output', async () => {
    const bench = await createBench();
    bench.drive();
    bench.print(CONVERSATION, 'delivered msg-2', 'returned msg-3');
    await eventually(() => bench.recorded.length === 2);
    expect(bench.recorded).toEqual(['delivered msg-2', 'returned msg-3']);
  });
});

describe('an answer [A2]', () => {
  it('is put on record before it is written to the process [A3]', async () => {
    const bench = await createBench();
    let note = (): void => undefined;
    const noted = new Promise<void>((resolve) => (note = resolve));
    const driven = bench.drive(NOTHING, { answered: () => noted });
    bench.print(CONVERSATION, 'asked a');
    await eventually(() => bench.recorded.includes('asked a'));
    driven.tell({ ...NOTHING, asks: [asked('a', null)] });
    expect(bench.heard).not.toContain('answer a allow B');
    driven.tell({ ...NOTHING, asks: [asked('a')] });
    bench.print('said hello');
    await bench.read('said hello');
    expect(bench.written()).toEqual(['prompt']);
    note();
    await eventually(() => bench.written().includes('answer a allow B'));
  });

  it('of a rule is written at once, and what the protocol says to it is handled [A3]', async () => {
    const bench = await createBench();
    const denied: Answer = { verdict: 'deny', answers: {}, reason: 'rule 1' };
    bench.drive(NOTHING, { asked: async () => denied });
    bench.print(CONVERSATION, 'asked a');
    await eventually(() => bench.written().includes('answer a deny'));
    await eventually(() => bench.recorded.length > 0);
    expect(bench.recorded).toEqual(['closed a']);
  });
});

describe('a turn that shall end on its question [A2]', () => {
  it('is told once, and its end is said as it is', async () => {
    const bench = await createBench();
    const driven = bench.drive();
    bench.print(CONVERSATION, 'asked a');
    await bench.read('asked a');
    const told = { ...NOTHING, asks: [asked('a', null)], deferring: 'waited 30 minutes' };
    driven.tell(told);
    driven.tell(told);
    await eventually(() => bench.written().includes('defer'));
    bench.print('closed a', 'ended deferred');
    await eventually(() => bench.written().includes('eof'));
    bench.run.exit();
    expect(await driven.end).toMatchObject({ kind: 'result', result: { outcome: 'deferred' } });
    expect(bench.written()).toEqual(['prompt', 'defer', 'eof']);
  });
});

describe('output that is read again [M6]', () => {
  const TOLD: Told = {
    messages: [
      offered('msg-2', { state: 'delivered' }),
      offered('msg-3', { state: 'returned', wanted_back: true }),
    ],
    asks: [{ ...asked('a'), open: false }, asked('b', null)],
    deferring: 'waited 30 minutes',
  };
  const LINES = [CONVERSATION, 'asked a', 'delivered msg-2', 'returned msg-3', 'said hello'];

  it('is read with all that people said before its first line, but for what came back', async () => {
    const bench = await createBench();
    bench.print(...LINES);
    bench.drive(TOLD);
    await bench.read('said hello');
    expect(bench.heard).toEqual([
      'answer a allow B',
      'defer',
      FIRST,
      'steer msg-2',
      ...LINES.slice(1).map((line) => `<${line}`),
    ]);
  });

  it('writes the same keys in whatever order people and the process spoke', async () => {
    const live = await createBench();
    const driven = live.drive();
    for (const line of LINES) {
      live.print(line);
      await live.read(line);
    }
    driven.tell(TOLD);
    await eventually(() => live.written().length === 4);
    const keys = live.written().toSorted();
    const again = live.drive(TOLD);
    live.print('said bye');
    await live.read('said bye');
    live.print('ended succeeded');
    await eventually(() => live.written().includes('eof'));
    live.run.exit();
    await again.end;
    expect(live.written().slice(0, -1).toSorted()).toEqual(keys);
  });

  it('says all of it again, and nothing that people said', async () => {
    const bench = await createBench();
    bench.print(...LINES);
    bench.drive(TOLD);
    await bench.read('said hello');
    const types = ['conversation', 'asked', 'delivered', 'returned', 'message'];
    expect(bench.said.map(({ type }) => type)).toEqual(types);
    bench.drive(TOLD);
    await eventually(() => bench.said.length === 10);
    expect(bench.said.map(({ type }) => type)).toEqual([...types, ...types]);
  });
});

describe('what could not be put on record', () => {
  const away = new Error('the database is away');
  const failing = async (): Promise<never> => Promise.reject(away);

  it('ends the drive, and nothing behind it is lost: the next one reads it', async () => {
    const bench = await createBench();
    bench.print(CONVERSATION, 'delivered msg-2', 'delivered msg-3', 'asked a');
    const first = bench.drive(NOTHING, { delivered: failing });
    await expect(first.end).rejects.toBe(away);
    expect(bench.recorded).toEqual([]);
    expect(bench.heard).not.toContain('<delivered msg-3');
    bench.drive();
    await eventually(() => bench.recorded.length === 3);
    expect(bench.recorded).toEqual(['delivered msg-2', 'delivered msg-3', 'asked a']);
  });

  it.each(['returned msg-2', 'asked a', 'closed a'])('ends it at “%s” too', async (line) => {
    const bench = await createBench();
    const driven = bench.drive(NOTHING, { returned: failing, asked: failing, closed: failing });
    bench.print(CONVERSATION, line, 'delivered msg-9');
    await expect(driven.end).rejects.toBe(away);
    expect(bench.recorded).toEqual([]);
  });

  it('ends it also while the process says nothing, and the answer is not written', async () => {
    const bench = await createBench();
    const driven = bench.drive(NOTHING, { answered: failing });
    bench.print(CONVERSATION, 'asked a');
    await eventually(() => bench.recorded.includes('asked a'));
    driven.tell({ ...NOTHING, asks: [asked('a')] });
    await expect(driven.end).rejects.toBe(away);
    expect(bench.written()).toEqual(['prompt']);
  });
});
