import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import {
  EVENT_SCHEMAS,
  validateEvent,
  type AnyEvent,
  type CheckpointEvent,
  type CheckpointEvents,
} from '@hangar/contracts';
import { decide, type CheckpointCommand, type CheckpointCommands } from './checkpoint.decider.ts';
import { checkpointPolicy } from './checkpoint.policy.ts';
import { evolve, initialState, type CheckpointState } from './checkpoint.ts';

const FIXTURES = new URL('../../contracts/fixtures/', import.meta.url);
const fixture = (type: string): AnyEvent =>
  ({
    type,
    data: JSON.parse(readFileSync(new URL(`${type}.v1.json`, FIXTURES), 'utf8')),
  }) as AnyEvent;

const NOW = '2030-01-01T12:00:00.000Z';
const command = <K extends keyof CheckpointCommands>(type: K, data: CheckpointCommands[K]) =>
  ({ type, data, now: NOW }) as CheckpointCommand;

const request = fixture('CheckpointRequested').data as CheckpointEvents['CheckpointRequested'];
const { checkpoint_id, session_id, place } = request;
const { continuity } = fixture('CheckpointRestored').data as CheckpointEvents['CheckpointRestored'];
const take = command('TakeCheckpoint', request);
const taken = command('MarkTaken', {
  complete: true,
  parts: [],
  skipped: [],
  warnings: [],
  taken_at: NOW,
});
const skipped = command('MarkSkipped', { same_as: 'ckp-1a2b3c4d-1' });
const failed = command('MarkFailed', { error: 'no space left' });
const restore = (epoch: number) =>
  command('RestoreCheckpoint', { checkpoint_id, session_id, epoch, place, harness: 'fake' });
const restored = (epoch: number) => command('MarkRestored', { epoch, continuity });
const notRestored = (epoch: number) =>
  command('MarkRestoreFailed', { epoch, code: 'corrupt', error: 'bad hash' });
const drop = command('DropCheckpoint', { checkpoint_id, session_id, reason: 'archived' });

function told(...commands: CheckpointCommand[]): CheckpointEvent[] {
  const events: CheckpointEvent[] = [];
  let state: CheckpointState = initialState;
  for (const c of commands)
    for (const event of decide(state, c)) {
      validateEvent(event.type, JSON.parse(JSON.stringify(event.data)));
      state = evolve(state, event);
      events.push(event);
    }
  return events;
}

const decided = (past: CheckpointEvent[], next: CheckpointCommand): CheckpointEvent[] =>
  decide(
    past.reduce((s: CheckpointState, e) => evolve(s, e), initialState),
    next,
  );

const STORIES = {
  'not asked for': [],
  'being taken': [take],
  taken: [take, taken],
  'found unchanged': [take, skipped],
  failed: [take, failed],
  'being restored': [take, taken, restore(2)],
  restored: [take, taken, restore(2), restored(2)],
  dropped: [take, taken, drop],
  'dropped while being taken': [take, drop],
} satisfies Record<string, CheckpointCommand[]>;
type Story = keyof typeof STORIES;

/** What each command gives, by story; where it is not named it is quiet. */
const TABLE: [string, CheckpointCommand, Partial<Record<Story, string>>][] = [
  ['TakeCheckpoint', take, { 'not asked for': 'CheckpointRequested' }],
  ['MarkTaken', taken, { 'being taken': 'CheckpointTaken' }],
  ['MarkSkipped', skipped, { 'being taken': 'CheckpointSkipped' }],
  ['MarkFailed', failed, { 'being taken': 'CheckpointFailed' }],
  [
    'RestoreCheckpoint',
    restore(2),
    {
      taken: 'CheckpointRestoreRequested',
      'not asked for': 'CheckpointRestoreFailed',
      'being taken': 'CheckpointRestoreFailed',
      'found unchanged': 'CheckpointRestoreFailed',
      failed: 'CheckpointRestoreFailed',
      dropped: 'CheckpointRestoreFailed',
      'dropped while being taken': 'CheckpointRestoreFailed',
    },
  ],
  ['MarkRestored', restored(2), { 'being restored': 'CheckpointRestored' }],
  ['MarkRestoreFailed', notRestored(2), { 'being restored': 'CheckpointRestoreFailed' }],
  [
    'DropCheckpoint',
    drop,
    {
      'not asked for': 'CheckpointDropped',
      'being taken': 'CheckpointDropped',
      taken: 'CheckpointDropped',
      'found unchanged': 'CheckpointDropped',
      failed: 'CheckpointDropped',
      'being restored': 'CheckpointDropped',
      restored: 'CheckpointDropped',
    },
  ],
];

describe.each(Object.keys(STORIES) as Story[])('a checkpoint that is %s', (name) => {
  it.each(TABLE)('%s is recorded or quiet', (_type, c, where) => {
    const events = told(...STORIES[name], c).slice(told(...STORIES[name]).length);
    const wanted = where[name];
    expect(events.map((e) => e.type)).toEqual(wanted === undefined ? [] : [wanted]);
  });
});

describe('a restore', () => {
  it('is for one sandbox: a result of another epoch is quiet [M5]', () => {
    expect(decided(told(...STORIES['being restored']), restored(1))).toEqual([]);
  });

  it('may be asked for again by a later sandbox', () => {
    expect(told(...STORIES.restored, restore(3)).at(-1)?.type).toBe('CheckpointRestoreRequested');
  });

  it('of one whose blobs are gone says so instead of waiting [R1]', () => {
    expect(told(...STORIES.dropped, restore(2)).at(-1)?.data).toMatchObject({ code: 'missing' });
  });
});

describe('what sessions tell', () => {
  it.each([
    ['CheckpointDue', 'TakeCheckpoint'],
    ['RestoreRequested', 'RestoreCheckpoint'],
    ['CheckpointsDropped', 'DropCheckpoint'],
  ])('%s gives %s', (type, commandType) => {
    const steps = checkpointPolicy(fixture(type), NOW);
    expect(steps.map((s) => s.command.type)).toEqual([commandType]);
    const events = decide(null, steps[0]?.command ?? drop);
    for (const e of events) expect(() => validateEvent(e.type, e.data)).not.toThrow();
  });

  it('each dropped checkpoint is dropped', () => {
    const data = {
      session_id,
      checkpoint_ids: ['ckp-1a2b3c4d-1', 'ckp-1a2b3c4d-2'],
      reason: 'old',
    };
    const steps = checkpointPolicy({ type: 'CheckpointsDropped', data }, NOW);
    expect(steps.map((s) => s.checkpoint_id)).toEqual(data.checkpoint_ids);
  });

  const used = ['CheckpointDue', 'RestoreRequested', 'CheckpointsDropped'];
  it.each([...EVENT_SCHEMAS.keys()].filter((type) => !used.includes(type)))(
    '%s is nothing to checkpoints',
    (type) => {
      expect(checkpointPolicy(fixture(type), NOW)).toEqual([]);
    },
  );
});

describe('old checkpoint events still fold', () => {
  const TYPES: [CheckpointEvent['type'], (s: CheckpointState) => unknown, unknown][] = [
    ['CheckpointRequested', (s) => s?.status, 'requested'],
    ['CheckpointTaken', (s) => s?.status, 'taken'],
    ['CheckpointSkipped', (s) => s?.status, 'skipped'],
    ['CheckpointFailed', (s) => s?.status, 'failed'],
    ['CheckpointDropped', (s) => s?.status, 'dropped'],
    ['CheckpointRestoreRequested', (s) => s?.restores['2'], 'requested'],
    ['CheckpointRestored', (s) => s?.restores['2'], 'restored'],
    ['CheckpointRestoreFailed', (s) => Object.values(s?.restores ?? {}), ['failed']],
  ];
  it.each(TYPES)('%s', (type, read, effect) => {
    expect(read(evolve(null, fixture(type) as CheckpointEvent))).toEqual(effect);
  });
});
