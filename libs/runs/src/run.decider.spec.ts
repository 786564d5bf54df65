import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import {
  EVENT_SCHEMAS,
  validateEvent,
  type AnyEvent,
  type RunEvent,
  type RunEvents,
} from '@hangar/contracts';
import { decide, type RunCommand, type RunCommands } from './run.decider.ts';
import { runPolicy } from './run.policy.ts';
import { evolve, initialState, type RunRequest, type RunState } from './run.ts';

const FIXTURES = new URL('../../contracts/fixtures/', import.meta.url);
const fixture = (type: string): AnyEvent =>
  ({
    type,
    data: JSON.parse(readFileSync(new URL(`${type}.v1.json`, FIXTURES), 'utf8')),
  }) as AnyEvent;

const NOW = '2030-01-01T12:00:00.000Z';
const command = <K extends keyof RunCommands>(type: K, data: RunCommands[K]) =>
  ({ type, data, now: NOW }) as RunCommand;

const start = command('StartRun', fixture('RunRequested').data as RunRequest);
const started = command('MarkStarted', { conversation: 'native' });
const delivered = command('MarkDelivered', {});
const cancel = command('CancelRun', { reason: 'interrupted by a person' });
const finish = command('FinishRun', {
  outcome: 'succeeded',
  exit_code: 0,
  summary: 'done',
  usage: { input_tokens: 1, output_tokens: 1, cached_tokens: 0 },
  conversation: 'native',
});
const steer = command('SteerRun', { message_id: 'msg-2', text: 'also this' });
const withdraw = command('WithdrawMessage', { message_id: 'msg-2' });
const steered = command('MarkDelivered', { message_id: 'msg-2' });
const returned = command('MarkReturned', { message_id: 'msg-2' });
const asks = fixture('RunAsked').data as RunEvents['RunAsked'];
const given = fixture('RunAnswerGiven').data as RunEvents['RunAnswerGiven'];
const ask = command('NoteAsk', { ask: asks.ask });
const answer = command('GiveAnswer', { ask_id: asks.ask.id, answer: given.answer });
const closeAsk = command('CloseAsk', { ask_id: asks.ask.id });
const defer = command('DeferRun', { reason: 'waited 30 minutes for an answer' });
const note = command('NoteDecision', {
  call_id: 'toolu_09',
  tool: 'Bash',
  input: '{}',
  verdict: 'allow',
  reason: 'the session allows all',
  decided_by: 'mode',
});
const fail = command('FailRun', { code: 'vanished', reason: 'killed', sandbox_gone: false });

function told(...commands: RunCommand[]): RunEvent[] {
  const events: RunEvent[] = [];
  let state: RunState = initialState;
  for (const c of commands)
    for (const event of decide(state, c)) {
      validateEvent(event.type, JSON.parse(JSON.stringify(event.data)));
      state = evolve(state, event);
      events.push(event);
    }
  return events;
}

const decided = (past: RunEvent[], next: RunCommand): RunEvent[] =>
  decide(
    past.reduce((s: RunState, e) => evolve(s, e), initialState),
    next,
  );

const STORIES = {
  'not asked for': [],
  requested: [start],
  started: [start, started],
  delivered: [start, started, delivered],
  steered: [start, started, steer],
  'wanting a message back': [start, started, steer, withdraw],
  'done with a message': [start, started, steer, steered],
  'rid of a message': [start, started, steer, withdraw, returned],
  asking: [start, started, ask],
  answered: [start, started, ask, answer],
  'done asking': [start, started, ask, answer, closeAsk],
  deferring: [start, started, ask, defer],
  'told to stop': [start, started, delivered, cancel],
  'told to stop before it started': [start, cancel],
  finished: [start, started, delivered, finish],
  'failed by its sandbox': [start, fail],
} satisfies Record<string, RunCommand[]>;
type Story = keyof typeof STORIES;

/** Those that have not had their own message yet. */
const LIVE: Story[] = [
  'steered',
  'wanting a message back',
  'done with a message',
  'rid of a message',
  'asking',
  'answered',
  'done asking',
  'deferring',
];
const OPEN: Story[] = [
  'requested',
  'started',
  'delivered',
  ...LIVE,
  'told to stop',
  'told to stop before it started',
];
const without = (all: Story[], some: Story[]): Story[] => all.filter((s) => !some.includes(s));
/** What each command gives where it gives anything; everywhere else it is quiet. */
const TABLE: [string, RunCommand, string, Story[]][] = [
  ['StartRun', start, 'RunRequested', ['not asked for']],
  ['MarkStarted', started, 'RunStarted', ['requested', 'told to stop before it started']],
  [
    'MarkDelivered',
    delivered,
    'RunMessageDelivered',
    ['requested', 'started', ...LIVE, 'told to stop before it started'],
  ],
  ['CancelRun', cancel, 'RunCancelRequested', ['requested', 'started', 'delivered', ...LIVE]],
  ['SteerRun', steer, 'RunSteerRequested', without(OPEN, LIVE.slice(0, 4))],
  ['WithdrawMessage', withdraw, 'RunWithdrawRequested', ['steered']],
  [
    'MarkDelivered of a steer',
    steered,
    'RunMessageDelivered',
    ['steered', 'wanting a message back'],
  ],
  ['MarkReturned', returned, 'RunMessageReturned', ['steered', 'wanting a message back']],
  ['NoteAsk', ask, 'RunAsked', without(OPEN, LIVE.slice(4))],
  ['GiveAnswer', answer, 'RunAnswerGiven', ['asking']],
  ['CloseAsk', closeAsk, 'RunAskClosed', ['asking', 'answered', 'deferring']],
  ['DeferRun', defer, 'RunDeferRequested', without(OPEN, ['deferring'])],
  ['NoteDecision', note, 'RunToolDecided', OPEN],
  ['FinishRun', finish, 'RunFinished', OPEN],
  ['FailRun', fail, 'RunFailed', OPEN],
];

describe.each(Object.keys(STORIES) as Story[])('a run that is %s', (name) => {
  it.each(TABLE)('%s is recorded or quiet', (_type, c, event, where) => {
    const events = told(...STORIES[name], c).slice(told(...STORIES[name]).length);
    expect(events.map((e) => e.type)).toEqual(where.includes(name) ? [event] : []);
  });
});

describe('a run', () => {
  it('starts once, also when its turn is asked for again after its end [M5]', () => {
    for (const name of ['finished', 'failed by its sandbox'] as const)
      expect(decided(told(...STORIES[name]), start)).toEqual([]);
  });

  it('carries the epoch of its sandbox in all that it says [M5]', () => {
    const { epoch } = start.data as RunRequest;
    for (const event of told(...STORIES.finished)) expect(event.data).toMatchObject({ epoch });
  });
});

describe('a message for the running turn', () => {
  it('is delivered or returned, once, whatever is told after that [M3] [M4]', () => {
    for (const late of [steer, withdraw, steered, returned]) {
      expect(decided(told(...STORIES['done with a message']), late)).toEqual([]);
      expect(decided(told(...STORIES['rid of a message']), late)).toEqual([]);
    }
  });

  it('that is the turn’s own is not steered into it as well [M4]', () => {
    const { message_id, message } = start.data as RunRequest;
    expect(decided(told(start), command('SteerRun', { message_id, text: message }))).toEqual([]);
  });

  it('stays wanted back when it is settled: its output is read again with that [M6]', () => {
    const state = told(start, steer, withdraw, returned).reduce(evolve, initialState);
    expect(state?.messages).toEqual([
      { message_id: 'msg-2', text: 'also this', state: 'returned', wanted_back: true },
    ]);
  });

  it('unknown to the run is neither delivered nor returned by it [M5]', () => {
    for (const type of ['MarkDelivered', 'MarkReturned', 'WithdrawMessage'] as const)
      expect(decided(told(start, started), command(type, { message_id: 'msg-7' }))).toEqual([]);
  });
});

describe('an ask', () => {
  it('takes the first answer while it is open [A2]', () => {
    const other = command('GiveAnswer', {
      ask_id: asks.ask.id,
      answer: { verdict: 'deny', answers: [], reason: 'no' },
    });
    expect(decided(told(...STORIES.answered), other)).toEqual([]);
    expect(decided(told(start, started, ask, closeAsk), other)).toEqual([]);
    expect(decided(told(start, started), other)).toEqual([]);
  });

  it('takes none once the run is told to defer: its session passes that on [A2]', () => {
    expect(decided(told(...STORIES.deferring), answer)).toEqual([]);
  });

  it('is told once, also by a run whose output is read again [M6]', () => {
    expect(decided(told(...STORIES['done asking']), ask)).toEqual([]);
  });

  it('holds the time limit up for as long as somebody is waited on [M7]', () => {
    const at = (minutes: number): string =>
      new Date(Date.parse(NOW) + minutes * 60_000).toISOString();
    const later = (c: RunCommand, minutes: number, id = asks.ask.id): RunCommand =>
      ({
        now: at(minutes),
        type: c.type,
        data: c === ask ? { ask: { ...asks.ask, id } } : { ask_id: id },
      }) as RunCommand;
    const counted = (...commands: RunCommand[]): string | null | undefined =>
      told(...commands).reduce(evolve, initialState)?.counts_from;
    expect(counted(start)).toBeNull();
    const begun = [start, started];
    expect(counted(...begun, later(ask, 50))).toBe(NOW);
    const once = [...begun, later(ask, 50), later(closeAsk, 80)];
    expect(counted(...once)).toBe(at(30));
    // Two that are open at once are one wait.
    const twice = [...once, later(ask, 85, 'two'), later(ask, 86, 'three')];
    const half = [...twice, later(closeAsk, 90, 'two')];
    expect(counted(...half)).toBe(at(30));
    expect(counted(...half, later(closeAsk, 95, 'three'))).toBe(at(40));
  });
});

describe('a decision on a tool call', () => {
  it('is recorded once; the first one stands [A3]', () => {
    const again = { ...note, data: { ...note.data, verdict: 'deny' } } as RunCommand;
    expect(decided(told(start, started, note), again)).toEqual([]);
  });
});

describe('what sessions tell', () => {
  it.each([
    ['TurnRequested', 'StartRun'],
    ['TurnCancelRequested', 'CancelRun'],
    ['SteerRequested', 'SteerRun'],
    ['TakeBackRequested', 'WithdrawMessage'],
    ['CardAnswered', 'GiveAnswer'],
    ['DeferRequested', 'DeferRun'],
  ])('%s gives %s', (type, commandType) => {
    const event = fixture(type);
    const [step, ...more] = runPolicy(event, NOW);
    expect(more).toEqual([]);
    expect(step?.run_id).toBe((event.data as { run_id: string }).run_id);
    expect(step?.command).toMatchObject({ type: commandType, now: NOW });
  });

  it('a turn’s request is a run’s request, to the letter of the contract', () => {
    const step = runPolicy(fixture('TurnRequested'), NOW)[0];
    for (const e of step ? decide(null, step.command) : [])
      expect(() => validateEvent(e.type, e.data)).not.toThrow();
    expect(step).toBeDefined();
  });

  const used = [
    'TurnRequested',
    'TurnCancelRequested',
    'SteerRequested',
    'TakeBackRequested',
    'CardAnswered',
    'DeferRequested',
  ];
  it.each([...EVENT_SCHEMAS.keys()].filter((type) => !used.includes(type)))(
    '%s is nothing to runs',
    (type) => {
      expect(runPolicy(fixture(type), NOW)).toEqual([]);
    },
  );
});

describe('old run events still fold', () => {
  const TYPES: [RunEvent['type'], (s: RunState) => unknown, unknown][] = [
    ['RunRequested', (s) => s?.status, 'requested'],
    ['RunStarted', (s) => s?.status, 'started'],
    ['RunMessageDelivered', (s) => s?.delivered, true],
    ['RunSteerRequested', (s) => s?.messages.map((m) => m.state), ['offered']],
    ['RunWithdrawRequested', (s) => s?.messages, []],
    ['RunMessageReturned', (s) => s?.messages, []],
    ['RunAsked', (s) => s?.asks.map((a) => a.open), [true]],
    ['RunAnswerGiven', (s) => s?.asks, []],
    ['RunAskClosed', (s) => s?.counts_from, null],
    ['RunDeferRequested', (s) => s?.deferring, 'waited 30 minutes for an answer'],
    ['RunToolDecided', (s) => s?.decided.length, 1],
    ['RunCancelRequested', (s) => s?.cancelling, 'interrupted by a person'],
    ['RunFinished', (s) => s?.status, 'ended'],
    ['RunFailed', (s) => s?.status, 'ended'],
  ];
  it.each(TYPES)('%s', (type, read, effect) => {
    const past = type === 'RunRequested' ? null : told(start).reduce(evolve, initialState);
    expect(read(evolve(past, fixture(type) as RunEvent))).toEqual(effect);
  });
});
