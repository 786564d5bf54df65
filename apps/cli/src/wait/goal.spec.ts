import { describe, expect, it } from '@jest/globals';
import type { EventDocument, EventMap, EventName } from '@hangar/contracts';
import { event, session } from '../testing/sample-documents.ts';
import {
  checkpointSettled,
  decided,
  sessionUp,
  suspended,
  turnEnded,
  turnSettled,
  type Goal,
  type Verdict,
} from './goal.ts';

type Told = { [Name in EventName]: [Name, Partial<EventMap[Name]>] }[EventName];

/** The verdict, and after how many events it came; null when it never did. */
function judge(goal: Goal, told: Told[]): { verdict: Verdict; after: number } | null {
  const events = told.map(([type, data], index): EventDocument => event(index + 1, type, data));
  for (const [index, one] of events.entries()) {
    const verdict = goal.see(one);
    if (verdict) return { verdict, after: index + 1 };
  }
  return null;
}

const MINE = 'msg-00000001';
const asked: Told = ['TurnRequested', { turn: 3, message_id: MINE }];
const done = (outcome: string): Told => ['TurnFinished', { turn: 3, outcome }];
const due: Told = ['CheckpointDue', { reason: 'turn' }];
const saved: Told = ['CheckpointRecorded', { reason: 'turn', turn: 3, complete: true }];
const idle: Told = ['SessionIdled', { reason: '' }];

const ASKED = { asked: { id: 'c1', kind: 'question', questions: [] }, text: 'Which one?' };
const ask = (turn: number): Told => ['AttentionRaised', { kind: 'question', turn, ...ASKED }];

describe('a turn that asks [A2]', () => {
  it('ends the wait: an answer may take days', () => {
    const result = judge(turnSettled({ messageId: MINE }), [ask(2), asked, ask(3)]);
    expect(result).toMatchObject({
      verdict: { reached: false, turn: 3, what: 'The agent waits on you: Which one?', exitCode: 2 },
      after: 3,
    });
  });

  it('and ended on its question waits on a person, not on a try', () => {
    const told: Told[] = [asked, done('deferred'), saved];
    expect(judge(turnSettled({ messageId: MINE }), told)?.verdict).toMatchObject({
      reached: false,
      exitCode: 2,
    });
  });

  it('is waited for by who interrupts it', () => {
    const told: Told[] = [ask(3), done('cancelled'), saved];
    expect(judge(turnEnded(3), told)).toEqual({ verdict: { reached: true, turn: 3 }, after: 3 });
  });

  it('and was answered goes on', () => {
    const told: Told[] = [done('succeeded'), due, saved];
    expect(judge(turnSettled({ asking: 3 }), told)?.after).toBe(3);
  });

  it('and was deferred goes on as the turn of the answer', () => {
    const told: Told[] = [
      done('deferred'),
      ['MessageQueued', { message_id: 'msg-a', mode: 'answer' }],
      saved,
      ['TurnRequested', { turn: 4, message_id: 'msg-a' }],
      ['TurnFinished', { turn: 4, outcome: 'succeeded' }],
      ['CheckpointRecorded', { reason: 'turn', turn: 4, complete: true }],
    ];
    const result = judge(turnSettled({ asking: 3 }), told);
    expect(result).toEqual({ verdict: { reached: true, turn: 4 }, after: 6 });
  });
});

describe('a message that steers [M3]', () => {
  it('is waited for with the turn that it joined', () => {
    const told: Told[] = [
      ['SteerRequested', { message_id: MINE, turn: 3 }],
      ['MessageDelivered', { message_id: MINE, turn: 3 }],
      done('succeeded'),
      saved,
    ];
    const result = judge(turnSettled({ messageId: MINE }), told);
    expect(result).toEqual({ verdict: { reached: true, turn: 3 }, after: 4 });
  });
});

describe('the turn of a message', () => {
  const goal = (): Goal => turnSettled({ messageId: MINE });

  it('is settled when its checkpoint is, not before', () => {
    const result = judge(goal(), [asked, done('succeeded'), due, saved, idle]);
    expect(result).toEqual({ verdict: { reached: true, turn: 3 }, after: 4 });
  });

  it.each([
    ['nothing changed', ['CheckpointStillGood', { reason: 'turn', turn: 3 }]],
    ['it could not be taken', ['CheckpointMissed', { reason: 'turn', error: 'disk full' }]],
    ['the next turn starts', ['TurnRequested', { turn: 4, message_id: 'msg-2' }]],
    ['the session rests', idle],
  ] as [string, Told][])('is settled when %s', (_name, last) => {
    expect(judge(goal(), [asked, done('succeeded'), last])?.verdict.reached).toBe(true);
  });

  it('is not settled by a checkpoint of the interval, nor by another turn', () => {
    const told: Told[] = [
      ['TurnFinished', { turn: 2, outcome: 'succeeded' }],
      ['CheckpointRecorded', { reason: 'turn', turn: 2, complete: true }],
      asked,
      ['CheckpointRecorded', { reason: 'interval', turn: 3, complete: true }],
      done('succeeded'),
      ['CheckpointRecorded', { reason: 'interval', turn: 3, complete: true }],
    ];
    expect(judge(goal(), told)).toBeNull();
  });

  it('is the turn that was running when the message steered it', () => {
    const told: Told[] = [
      ['TurnRequested', { turn: 3, message_id: 'msg-other' }],
      ['MessageDelivered', { turn: 3, message_id: MINE }],
      done('succeeded'),
      saved,
    ];
    expect(judge(goal(), told)?.verdict).toEqual({ reached: true, turn: 3 });
  });

  it.each([
    ['failed', /Turn 3 failed: out of credit/, /send a message/],
    ['cancelled', /Turn 3 was cancelled: out of credit/, /Send a message/],
    ['timed_out', /Turn 3 ran out of time: out of credit/, /turn_minutes/],
  ])('that %s is not reached, and says what to do', (outcome, what, next) => {
    const end: Told = ['TurnFinished', { turn: 3, outcome, error: 'out of credit' }];
    const verdict = judge(goal(), [asked, end, due, saved])?.verdict;
    expect(verdict).toMatchObject({ reached: false, turn: 3 });
    expect(verdict?.what).toMatch(what);
    expect(verdict?.next).toMatch(next);
  });

  it('that was interrupted waits for the word that says how old the saved work is', () => {
    const cut: Told = ['SessionInterrupted', { turn: 3, reason: 'the sandbox is gone' }];
    const result = judge(goal(), [asked, done('interrupted'), saved, cut]);
    expect(result?.after).toBe(4);
    expect(result?.verdict).toMatchObject({ reached: false, turn: 3 });
    expect(result?.verdict.next).toMatch(/retry.*continue/);
  });

  it.each([
    ['taken back', ['MessageTakenBack', { message_id: MINE }], /taken back/],
    ['overtaken by a failure', ['SessionFailed', { reason: 'no such image' }], /no such image/],
    ['overtaken by the end', ['SessionDeleted', {}], /deleted/],
  ] as [string, Told, RegExp][])('of a message %s never comes', (_name, told, what) => {
    expect(judge(goal(), [told])?.verdict).toMatchObject({ reached: false });
    expect(judge(goal(), [told])?.verdict.what).toMatch(what);
  });

  it('of a retry is the one of the message that the retry queues', () => {
    const told: Told[] = [
      ['MessageQueued', { message_id: 'msg-other', mode: 'auto' }],
      ['MessageQueued', { message_id: 'msg-again', mode: 'retry' }],
      ['TurnRequested', { turn: 3, message_id: 'msg-again' }],
      done('succeeded'),
      saved,
    ];
    expect(judge(turnSettled({ queuedAs: 'retry' }), told)?.verdict.turn).toBe(3);
  });
});

describe('an interrupt', () => {
  it('is reached by any end of its turn', () => {
    const goal = turnEnded(3);
    expect(judge(goal, [done('cancelled'), saved])?.verdict).toEqual({ reached: true, turn: 3 });
  });
});

describe('a session', () => {
  it('is up when it rests or works', () => {
    expect(sessionUp().already?.(session())).toEqual({ reached: true });
    expect(sessionUp().already?.(session({ state: 'RESUMING' }))).toBeNull();
    for (const type of ['SessionStarted', 'SessionResumed', 'SessionIdled'] as const)
      expect(
        judge(sessionUp(), [
          ['SandboxRequested', {}],
          [type, {}],
        ])?.after,
      ).toBe(2);
  });

  it('is suspended, or says why it was not', () => {
    expect(suspended().already?.(session({ state: 'SUSPENDED' }))).toEqual({ reached: true });
    expect(judge(suspended(), [['SessionSuspended', {}]])?.verdict.reached).toBe(true);
    const aborted: Told = ['SuspendAborted', { reason: 'not suspended: too large' }];
    const verdict = judge(suspended(), [aborted, idle])?.verdict;
    expect(verdict).toMatchObject({ reached: false, what: 'It was not suspended: too large' });
    expect(verdict?.next).toMatch(/--force/);
  });

  it('goes on after a decision', () => {
    const told: Told[] = [['InterruptionResolved', { turn: 3, decision: 'continue' }], idle];
    expect(judge(decided(), told)?.after).toBe(2);
  });

  it('is saved, or says why it was not', () => {
    expect(judge(checkpointSettled(), [due, saved])?.after).toBe(2);
    const missed: Told = ['CheckpointMissed', { error: 'disk full' }];
    expect(judge(checkpointSettled(), [missed])?.verdict.what).toMatch(/disk full/);
  });
});
