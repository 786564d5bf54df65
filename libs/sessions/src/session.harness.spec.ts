import { describe, expect, it } from '@jest/globals';
import { given } from '@hangar/testing';
import { partNumber, type Session } from './session.ts';
import {
  CONVERSATION,
  STORIES,
  attach,
  command,
  decided,
  decider,
  finish,
  minute,
  record,
  restored,
  sandboxId,
  send,
  sessionAfter,
  suspend,
  told,
} from './testing/stories.ts';

const change = (harness: string, model: string | null = null) =>
  command('ChangeHarness', { harness, model });
const types = (events: { type: string }[]): string[] => events.map((e) => e.type);
const released = (number: number) => [
  record(number, { reason: 'suspend' }),
  command('FinishRelease', { sandbox_id: sandboxId(1), cause: 'asked' }),
];
const incomplete = {
  reason: 'suspend',
  complete: false,
  skipped: [{ path: 'big', reason: 'size' }],
};
const asTurn = (s: Session): unknown => [s.harness, s.harness_session, s.hand_off];

describe('another harness [H3]', () => {
  it('the conversation of the one before is saved first, as its own', () => {
    const events = decided(told(...STORIES['IDLE, saved']), change('pi'));
    expect(types(events)).toEqual(['SuspendRequested', 'CheckpointDue', 'HarnessChanged']);
    expect(events[1]?.data).toMatchObject({ harness: 'fake', harness_session: CONVERSATION });
  });

  it('begins in a fresh sandbox, with the account of the work, once', () => {
    const past = told(
      ...STORIES['IDLE, saved'],
      change('pi'),
      ...released(2),
      send('msg-2'),
      attach(2),
    );
    const events = decided(past, restored(2, 2));
    const turn = events.find((e) => e.type === 'TurnRequested');
    expect(turn?.data).toMatchObject({ harness: 'pi', resume: false, hand_off: true });
    given(decider, ...past, ...events)
      .when(finish(2))
      .thenState((s) => expect(asTurn(s as Session)).toEqual(['pi', CONVERSATION, false]));
  });

  it('changed back before a turn, nothing has happened to the conversation', () => {
    const s = sessionAfter(
      told(
        ...STORIES['IDLE, saved'],
        change('pi'),
        ...released(2),
        change('codex'),
        change('fake'),
      ),
    );
    expect(asTurn(s)).toEqual(['fake', CONVERSATION, false]);
    expect(s.conversation).toBe('native');
  });

  it('never begins in the sandbox of the one before: a refused suspend is said, and waits', () => {
    const past = told(...STORIES['IDLE, saved'], change('pi'), record(2, incomplete));
    expect(types(decided(past, send('msg-2')))).toEqual(['MessageQueued', 'SessionIdled']);
    const s = sessionAfter([...past, ...decided(past, send('msg-2'))]);
    expect(s.state_reason).toContain('after a complete checkpoint, or suspend --force');
    const back = [...past, ...decided(past, change('fake'))];
    expect(types(decided(back, send('msg-2')))).toContain('TurnRequested');
    given(decider, ...past, ...decided(past, send('msg-2')))
      .when(suspend(true))
      .thenState((after) => expect(after?.phase.state).toBe('SUSPENDING'));
  });

  it('gets its sandbox by itself as soon as all is saved', () => {
    const kept = told(
      ...STORIES['IDLE, saved'],
      change('pi'),
      record(2, incomplete),
      send('msg-2'),
    );
    const saved = [...kept, ...decided(kept, command('TakeCheckpoint', {}))];
    const ckp = saved.findLast((e) => e.type === 'CheckpointDue')?.data.checkpoint_id ?? '';
    const n = partNumber(ckp);
    expect(types(decided(saved, record(n, incomplete)))).not.toContain('SuspendRequested');
    expect(types(decided(saved, record(n)))).toEqual(
      expect.arrayContaining(['AttentionCleared', 'SuspendRequested', 'CheckpointDue']),
    );
  });

  it("ends the wait for the other provider's limit", () => {
    const failed = finish(1, 'failed');
    const limited = {
      ...failed,
      data: { ...failed.data, resets_at: minute(300) },
    } as typeof failed;
    const past = told(...STORIES['ACTIVE, running'], limited, record(1));
    expect(types(decided(past, change('pi')))).toContain('UsageLimitEnded');
    expect(types(decided(past, change('fake', 'model-2')))).toEqual(['HarnessChanged']);
  });

  it('a model alone keeps the conversation', () => {
    const past = told(...STORIES['IDLE, saved'], change('fake', 'model-2'));
    expect(asTurn(sessionAfter(past))).toEqual(['fake', CONVERSATION, false]);
    const turn = decided(past, send('msg-2')).find((e) => e.type === 'TurnRequested');
    expect(turn?.data).toMatchObject({ model: 'model-2', resume: true });
  });
});
