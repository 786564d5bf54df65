import { describe, expect, it } from '@jest/globals';
import { given } from '@hangar/testing';
import { wantedTimers } from './session.timers.ts';
import {
  STORIES,
  command,
  decided,
  decider,
  finish,
  minute,
  record,
  sandboxId,
  send,
  sessionAfter,
  suspend,
  told,
} from './testing/stories.ts';

const UNTIL = minute(300);
const limited = (resets_at: string) => {
  const failed = finish(1, 'failed');
  return { ...failed, data: { ...failed.data, resets_at } } as typeof failed;
};
const types = (events: { type: string }[]): string[] => events.map((e) => e.type);
const waiting = [...STORIES['ACTIVE, running'], limited(UNTIL), record(1)];
const end = (minutes: number) => command('EndUsageLimit', {}, minutes);

describe("a provider's usage limit that says when it ends [M7]", () => {
  it('is waited for, with its turn in front of what waits, and is shown', () => {
    const s = sessionAfter(told(...waiting, send('msg-2')));
    expect(s.phase.state).toBe('IDLE');
    expect(s.limited).toEqual({ turn: 1, until: UNTIL });
    expect(s.queue.map((m) => m.text)).toEqual(['please msg-1', 'please msg-2']);
    expect(s.attention).toMatchObject([{ kind: 'limit', choices: ['retry', 'continue'], turn: 1 }]);
    expect(s.state_reason).toContain(UNTIL);
  });

  it('a message meanwhile starts nothing: the provider would refuse it', () => {
    expect(types(decided(told(...waiting), send('msg-2')))).toEqual(['MessageQueued']);
  });

  it('ends by the clock, not before it, and once', () => {
    const past = told(...waiting);
    expect(decided(past, end(299))).toEqual([]);
    given(decider, ...past)
      .when(end(300))
      .thenState((s) => {
        expect(s?.phase).toMatchObject({ state: 'ACTIVE', turn: 2 });
        expect(s?.turns.at(-1)?.message).toBe('please msg-1');
        expect(s?.attention).toEqual([]);
      });
    expect(decided(told(...waiting, end(300)), end(300))).toEqual([]);
  });

  it('its turn hears that it stopped there', () => {
    const events = decided(told(...waiting), end(300));
    const turn = events.find((e) => e.type === 'TurnRequested');
    expect(turn?.data).toMatchObject({ notes: expect.stringContaining('usage limit') });
  });

  it('lets the session suspend meanwhile, and resumes it when its time has come', () => {
    const suspended = told(
      ...waiting,
      suspend(),
      record(2, { reason: 'suspend' }),
      command('FinishRelease', { sandbox_id: sandboxId(1), cause: 'asked' }),
    );
    const s = sessionAfter(suspended);
    expect(s.phase.state).toBe('SUSPENDED');
    const settings = { startDeadlineMinutes: 15, checkpointMinutes: 10 };
    expect(wantedTimers(s, settings)).toEqual([{ kind: 'limit', dueAt: UNTIL }]);
    expect(types(decided(suspended, end(300)))).toEqual([
      'UsageLimitEnded',
      'AttentionCleared',
      'ResumeRequested',
      'SandboxRequested',
    ]);
  });

  it('a person may retry before, or go on without it', () => {
    expect(types(decided(told(...waiting), command('RetryTurn', {})))).toEqual([
      'UsageLimitEnded',
      'AttentionCleared',
      'TurnRequested',
    ]);
    given(decider, ...told(...waiting, send('msg-2')))
      .when(command('ContinueSession', {}))
      .thenState((s) => expect(s?.turns.at(-1)?.message).toBe('please msg-2'));
    expect(types(decided(told(...waiting), command('ContinueSession', {})))).toEqual([
      'MessageTakenBack',
      'UsageLimitEnded',
      'AttentionCleared',
    ]);
  });

  it.each([
    ['in the past', minute(-1)],
    ['more than eight days away', minute(8 * 24 * 60 + 1)],
    ['that is no time', 'soon'],
  ])('one %s is the failure that the turn ended with', (_, resets) => {
    const s = sessionAfter(told(...STORIES['ACTIVE, running'], limited(resets), record(1)));
    expect(s.limited).toBeNull();
    expect(s.queue).toEqual([]);
  });

  it('is not taken for work that cannot be saved: a suspend is not refused for it', () => {
    const events = decided(
      told(...waiting),
      command('SuspendIfIdle', { last_active_at: null, busy: false }, 60),
    );
    expect(types(events)).toEqual(['SuspendRequested', 'CheckpointDue']);
  });
});
