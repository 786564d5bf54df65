import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { EVENT_SCHEMAS, validateEvent, type AnyEvent, type SandboxEvent } from '@hangar/contracts';
import { decide, type SandboxCommand, type SandboxCommands } from './sandbox.decider.ts';
import { sandboxPolicy } from './sandbox.policy.ts';
import { evolve, initialState, type SandboxState } from './sandbox.ts';

const FIXTURES = new URL('../../contracts/fixtures/', import.meta.url);
const fixture = (type: string): AnyEvent =>
  ({
    type,
    data: JSON.parse(readFileSync(new URL(`${type}.v1.json`, FIXTURES), 'utf8')),
  }) as AnyEvent;

const NOW = '2030-01-01T12:00:00.000Z';
const BEFORE = '2030-01-01T11:00:00.000Z';
const AFTER = '2030-01-01T13:00:00.000Z';
const command = <K extends keyof SandboxCommands>(type: K, data: SandboxCommands[K]) =>
  ({ type, data, now: NOW }) as SandboxCommand;

const request = fixture('SandboxProvisionRequested').data as SandboxCommands['ProvisionSandbox'];
const { place } = fixture('SandboxReady').data as SandboxCommands['MarkReady'];
const provision = command('ProvisionSandbox', request);
const ready = (expires_at = BEFORE) =>
  command('MarkReady', { place, expires_at, environment_version: 1 });
const progress = command('NoteProgress', { phase: 'cloning', text: 'cloning' });
const failed = command('MarkFailed', { phase: 'cloning', reason: 'no branch' });
const lost = command('MarkLost', { reason: 'host down' });
const expire = command('ExpireSandbox', {});
const extend = command('ExtendSandbox', { expires_at: AFTER, reason: 'at work' });
const destroy = command('DestroySandbox', { cause: 'suspend', force: false });
const destroyed = command('MarkDestroyed', { cause: 'suspend' });

function told(...commands: SandboxCommand[]): SandboxEvent[] {
  const events: SandboxEvent[] = [];
  let state: SandboxState = initialState;
  for (const c of commands)
    for (const event of decide(state, c)) {
      validateEvent(event.type, JSON.parse(JSON.stringify(event.data)));
      state = evolve(state, event);
      events.push(event);
    }
  return events;
}

const decided = (past: SandboxEvent[], next: SandboxCommand): SandboxEvent[] =>
  decide(
    past.reduce((s: SandboxState, e) => evolve(s, e), initialState),
    next,
  );

const STORIES = {
  'not asked for': [],
  provisioning: [provision],
  ready: [provision, ready()],
  'ready, lifetime left': [provision, ready(AFTER)],
  'ready, expiring': [provision, ready(), expire],
  failed: [provision, failed],
  lost: [provision, ready(), lost],
  destroying: [provision, ready(), destroy],
  destroyed: [provision, ready(), destroy, destroyed],
} satisfies Record<string, SandboxCommand[]>;
type Story = keyof typeof STORIES;

/** What each command gives where it gives anything; everywhere else it is quiet. */
const TABLE: [SandboxCommand, string, Story[]][] = [
  [provision, 'SandboxProvisionRequested', ['not asked for']],
  [progress, 'SandboxProgressed', ['provisioning']],
  [ready(), 'SandboxReady', ['provisioning']],
  [failed, 'SandboxFailed', ['provisioning']],
  [lost, 'SandboxLost', ['ready', 'ready, lifetime left', 'ready, expiring']],
  [expire, 'SandboxExpiring', ['ready']],
  [extend, 'SandboxExtended', ['ready', 'ready, expiring']],
  [
    destroy,
    'SandboxDestroyRequested',
    ['provisioning', 'ready', 'ready, lifetime left', 'ready, expiring', 'failed', 'lost'],
  ],
  [destroyed, 'SandboxDestroyed', ['destroying']],
];

describe.each(Object.keys(STORIES) as Story[])('a sandbox that is %s', (name) => {
  it.each(TABLE.map(([c, event, where]) => [c.type, c, event, where] as const))(
    '%s is recorded or quiet',
    (_type, c, event, where) => {
      const events = told(...STORIES[name], c).slice(told(...STORIES[name]).length);
      expect(events.map((e) => e.type)).toEqual(where.includes(name) ? [event] : []);
    },
  );
});

describe('a sandbox', () => {
  it('never ends on its own initiative: it says that it expires, once, and waits [X3]', () => {
    expect(decided(told(...STORIES['ready, expiring']), expire)).toEqual([]);
    expect(evolveAll(told(...STORIES['ready, expiring']))?.status).toBe('ready');
  });

  it('says whether somebody is at work in it [X4]', () => {
    const busy = command('ExpireSandbox', { busy: true });
    expect(told(provision, ready(), busy).at(-1)?.data).toMatchObject({ busy: true });
  });

  it('may be asked before its time, with a reason; and not without one [X6]', () => {
    const wanted = command('ExpireSandbox', { reason: 'its place is wanted' });
    const left = told(...STORIES['ready, lifetime left']);
    expect(decided(left, expire)).toEqual([]);
    expect(decided(left, wanted)).toMatchObject([
      { type: 'SandboxExpiring', data: { reason: 'its place is wanted', busy: false } },
    ]);
  });

  it('that was kept may expire again', () => {
    const later = { ...expire, now: '2030-01-01T13:00:00.000Z' } as SandboxCommand;
    expect(told(...STORIES['ready, expiring'], extend, later).at(-1)?.type).toBe('SandboxExpiring');
  });

  it('the same progress again is quiet', () => {
    expect(decided(told(provision, progress), progress)).toEqual([]);
  });
});

const evolveAll = (events: SandboxEvent[]): SandboxState =>
  events.reduce((state: SandboxState, e) => evolve(state, e), initialState);

describe('what sessions tell', () => {
  const settings = { ttlMinutes: 60 };
  it.each([
    ['SandboxRequested', 'ProvisionSandbox', {}],
    ['SandboxReleaseRequested', 'DestroySandbox', {}],
    ['SandboxKeepRequested', 'ExtendSandbox', { expires_at: AFTER }],
  ] as const)('%s gives %s', (type, commandType, data) => {
    const event = fixture(type);
    const [step, ...more] = sandboxPolicy(event, NOW, settings);
    expect(more).toEqual([]);
    expect(step?.sandbox_id).toBe((event.data as { sandbox_id: string }).sandbox_id);
    expect(step?.command).toMatchObject({ type: commandType, data, now: NOW });
  });

  const used = ['SandboxRequested', 'SandboxReleaseRequested', 'SandboxKeepRequested'];
  it.each([...EVENT_SCHEMAS.keys()].filter((type) => !used.includes(type)))(
    '%s is nothing to sandboxes',
    (type) => {
      expect(sandboxPolicy(fixture(type), NOW, settings)).toEqual([]);
    },
  );
});

describe('old sandbox events still fold', () => {
  const TYPES: [SandboxEvent['type'], string][] = [
    ['SandboxProvisionRequested', 'provisioning'],
    ['SandboxProgressed', 'provisioning'],
    ['SandboxReady', 'ready'],
    ['SandboxFailed', 'failed'],
    ['SandboxExpiring', 'provisioning'],
    ['SandboxExtended', 'provisioning'],
    ['SandboxDestroyRequested', 'destroying'],
    ['SandboxDestroyed', 'destroyed'],
    ['SandboxLost', 'lost'],
  ];
  it.each(TYPES)('%s makes it %s', (type, status) => {
    const past = type === 'SandboxProvisionRequested' ? null : evolveAll(told(provision));
    expect(evolve(past, fixture(type) as SandboxEvent)?.status).toBe(status);
  });
});
