import { describe, expect, it } from '@jest/globals';
import {
  CHECKPOINT_DEADLINE_MINUTES,
  RELEASE_DEADLINE_MINUTES,
  TURN_GRACE_MINUTES,
} from '@hangar/contracts';
import { wantedTimers } from './session.timers.ts';
import {
  STORIES,
  checkpointId,
  command,
  minute,
  sessionAfter,
  story,
  told,
  type StoryName,
} from './testing/stories.ts';

const SETTINGS = { startDeadlineMinutes: 15, checkpointMinutes: 10 };
const TURN = 60 + TURN_GRACE_MINUTES;
const CHECKPOINT = CHECKPOINT_DEADLINE_MINUTES;

/** Every state that waits on somebody else has a deadline [S2]; minutes of the story. */
const TABLE: [StoryName, Record<string, number>][] = [
  ['STARTING', { start: 15 }],
  ['RESUMING', { start: 15 }],
  ['RESUMING, restoring', { start: 15 }],
  ['IDLE', { idle: 30, interval: 10 }],
  ['IDLE, a checkpoint is being taken', { checkpoint: CHECKPOINT }],
  ['IDLE, saved', { idle: 30, interval: 10 }],
  ['IDLE, talking', { interval: 10 }],
  ['ACTIVE, requested', { turn: TURN }],
  ['ACTIVE, running', { turn: TURN, interval: 10 }],
  ['ACTIVE, steered', { turn: TURN, interval: 10 }],
  // A person may take days; the session does not wait that long in its sandbox [A2].
  ['ACTIVE, asked', { idle: 30, interval: 10 }],
  ['ACTIVE, deferring', { turn: TURN }],
  ['ACTIVE, cancelling', { turn: TURN }],
  ['ACTIVE, ended', { checkpoint: CHECKPOINT }],
  ['SUSPENDING, saving', { checkpoint: CHECKPOINT }],
  ['SUSPENDING, releasing', { release: RELEASE_DEADLINE_MINUTES }],
  ['SUSPENDED', {}],
  ['SUSPENDED, asked', {}],
  ['INTERRUPTED', { idle: 30 }],
  ['INTERRUPTED, sandbox gone', {}],
  ['FAILED', {}],
  ['ARCHIVED', {}],
  ['DELETED', {}],
];

const timersOf = (events: ReturnType<typeof story>): Record<string, string> =>
  Object.fromEntries(wantedTimers(sessionAfter(events), SETTINGS).map((t) => [t.kind, t.dueAt]));

describe('the timers that a state wants', () => {
  it.each(TABLE)('%s', (name, wanted) => {
    const expected = Object.fromEntries(
      Object.entries(wanted).map(([kind, minutes]) => [kind, minute(minutes)]),
    );
    expect(timersOf(story(name))).toEqual(expected);
  });

  it('covers every story', () => {
    const names = Object.keys(STORIES).filter((name) => name !== 'not created');
    expect(TABLE.map(([name]) => name).sort()).toEqual(names.sort());
  });

  const missed = command('MissCheckpoint', {
    checkpoint_id: checkpointId(2),
    reason: 'suspend',
    error: 'full',
  });

  it('IDLE with work that cannot be saved: no idle clock, and it tries to save again', () => {
    expect(Object.keys(timersOf(told(...STORIES['SUSPENDING, saving'], missed)))).toEqual([
      'interval',
    ]);
  });

  it('INTERRUPTED with work that cannot be saved: likewise', () => {
    const suspend = command('SuspendSession', { force: false });
    expect(Object.keys(timersOf(told(...STORIES.INTERRUPTED, suspend, missed)))).toEqual([
      'interval',
    ]);
  });

  it('idle_minutes 0: no idle clock', () => {
    const keep = command('KeepSession', { idle_minutes: 0 });
    expect(Object.keys(timersOf(told(...STORIES.IDLE, keep)))).toEqual(['interval']);
  });
});
