import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { EVENT_SCHEMAS, validateEvent, type AnyEvent, type RunEvent } from '@hangar/contracts';
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
  'told to stop': [start, started, delivered, cancel],
  'told to stop before it started': [start, cancel],
  finished: [start, started, delivered, finish],
  'failed by its sandbox': [start, fail],
} satisfies Record<string, RunCommand[]>;
type Story = keyof typeof STORIES;

const OPEN: Story[] = [
  'requested',
  'started',
  'delivered',
  'told to stop',
  'told to stop before it started',
];
/** What each command gives where it gives anything; everywhere else it is quiet. */
const TABLE: [string, RunCommand, string, Story[]][] = [
  ['StartRun', start, 'RunRequested', ['not asked for']],
  ['MarkStarted', started, 'RunStarted', ['requested', 'told to stop before it started']],
  [
    'MarkDelivered',
    delivered,
    'RunMessageDelivered',
    ['requested', 'started', 'told to stop before it started'],
  ],
  ['CancelRun', cancel, 'RunCancelRequested', ['requested', 'started', 'delivered']],
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
    ['RunCancelRequested', (s) => s?.cancelling, 'interrupted by a person'],
    ['RunFinished', (s) => s?.status, 'ended'],
    ['RunFailed', (s) => s?.status, 'ended'],
  ];
  it.each(TYPES)('%s', (type, read, effect) => {
    const past = type === 'RunRequested' ? null : told(start).reduce(evolve, initialState);
    expect(read(evolve(past, fixture(type) as RunEvent))).toEqual(effect);
  });
});
