import { given } from '@hangar/testing';
import { describe, expect, it } from '@jest/globals';
import type { SessionCommand } from './session.commands.ts';
import { wantedTimers } from './session.timers.ts';
import {
  attach,
  checkpointId,
  command,
  create,
  decided,
  decider,
  minute,
  record,
  sandboxId,
  send,
  sessionAfter,
  steer,
  story,
  suspend,
  talk,
  talked,
  terminalId,
  told,
  STORIES,
} from './testing/stories.ts';

const talking: SessionCommand[] = STORIES['IDLE, talking'];
/** Names of the events that one more command gives. */
const after = (past: SessionCommand[], next: SessionCommand): string[] =>
  decided(told(...past), next).map(({ type }) => type);
const end = command('EndTalk', { terminal_id: terminalId(1) });
const lost = command('LoseSandbox', { sandbox_id: sandboxId(1), reason: 'host down' });
const saved = (number: number, minutes = 0) => record(number, { reason: 'talk' }, minutes);

describe('talking with the agent itself [X8]', () => {
  it('is asked for with all that its process needs', () => {
    expect(decided(story('IDLE, saved'), talk())).toMatchObject([
      {
        type: 'TalkRequested',
        data: {
          terminal_id: 'trm-1a2b3c4d-1',
          epoch: 1,
          harness: 'fake',
          harness_session: 'conversation-1',
          place: { sandbox_id: sandboxId(1) },
          idle_minutes: 30,
          turn: 1,
        },
      },
    ]);
  });

  it('holds the turn lock: messages wait in order, and no turn begins [M5]', () => {
    const s = sessionAfter(told(...talking, send('msg-2'), steer('msg-3')));
    expect(s.queue.map((m) => m.message_id)).toEqual(['msg-2', 'msg-3']);
    expect(s.phase.state).toBe('IDLE');
    expect(s.talk).toMatchObject({ terminal_id: terminalId(1), ending: false });
  });

  it('a checkpoint that is taken meanwhile starts no turn either', () => {
    const past = [...talking, command('TakeCheckpoint', {}), send('msg-2')];
    const next = record(2, { reason: 'manual' });
    expect(after(past, next)).toEqual(['CheckpointRecorded', 'SessionIdled']);
  });

  it('what was said is saved before the queue goes on [C2]', () => {
    const past = [...talking, send('msg-2')];
    expect(decided(told(...past), talked(1))).toMatchObject([
      { type: 'TalkEnded', data: { terminal_id: terminalId(1), exit_code: 0 } },
      { type: 'CheckpointDue', data: { checkpoint_id: checkpointId(2), reason: 'talk', turn: 1 } },
    ]);
    expect(after([...past, talked(1)], saved(2))).toEqual(['CheckpointRecorded', 'TurnRequested']);
  });

  it('a checkpoint that was being taken at its end is followed by one that has all of it', () => {
    const past = [...talking, command('TakeCheckpoint', {}), talked(1), send('msg-2')];
    const first = record(2, { reason: 'manual' });
    expect(after(past, first)).toEqual(['CheckpointRecorded', 'CheckpointDue']);
    expect(decided(told(...past), first).at(-1)).toMatchObject({ data: { reason: 'talk' } });
    expect(after([...past, first], saved(3))).toEqual(['CheckpointRecorded', 'TurnRequested']);
  });

  it('a checkpoint that is missed does not hold the queue', () => {
    const missed = { checkpoint_id: checkpointId(2), reason: 'talk', error: 'no space left' };
    expect(
      after([...talking, send('msg-2'), talked(1)], command('MissCheckpoint', missed)),
    ).toEqual(['CheckpointMissed', 'AttentionRaised', 'TurnRequested']);
  });

  it('keeps the session awake, and idle counts from its end [X4]', () => {
    const settings = { startDeadlineMinutes: 15, checkpointMinutes: 10 };
    const idle = command('SuspendIfIdle', { last_active_at: null, busy: false }, 24 * 60);
    given(decider, ...told(...talking))
      .when(idle)
      .thenNothing();
    const over = sessionAfter(told(...talking, talked(1, 100), saved(2, 101)));
    expect(wantedTimers(over, settings)).toContainEqual({ kind: 'idle', dueAt: minute(130) });
  });

  it('is kept at the end of the sandbox, and no suspend comes between', () => {
    const expiring = command('KeepOrSuspend', { sandbox_id: sandboxId(1) });
    expect(after(talking, expiring)).toEqual(['SandboxKeepRequested']);
    for (const force of [false, true])
      given(decider, ...told(...talking))
        .when(suspend(force))
        .thenRefuses('conflict', 'talks with the agent');
  });

  it('goes with its sandbox; a terminal that says so late changes nothing [M5]', () => {
    expect(after([...talking, send('msg-2')], lost)).toEqual([
      'TalkEnded',
      'SandboxReleased',
      'SandboxReleaseRequested',
      'AttentionRaised',
      'SessionSuspended',
      'ResumeRequested',
      'SandboxRequested',
    ]);
    const gone = told(...talking, lost);
    expect(sessionAfter(gone)).toMatchObject({ talk: null, talk_unsaved: false });
    given(decider, ...gone)
      .when(talked(1))
      .thenNothing();
  });

  it('ends when a person, or a message that interrupts, says so; once', () => {
    expect(after(talking, end)).toEqual(['TalkEndRequested']);
    expect(after([...talking, end], end)).toEqual([]);
    const interrupting = send('msg-2', 0, 'interrupt');
    expect(after(talking, interrupting)).toEqual(['MessageQueued', 'TalkEndRequested']);
    expect(after([...talking, end], interrupting)).toEqual(['MessageQueued']);
    expect(after(talking, command('EndTalk', { terminal_id: terminalId(7) }))).toEqual([]);
  });

  it.each<[string, string, SessionCommand[]]>([
    ['without a conversation', 'no conversation', [create, attach(1)]],
    ['in a turn', 'between its turns', STORIES['ACTIVE, running']],
    ['without a sandbox', 'no computer', STORIES['SUSPENDED']],
    [
      'where a message waits',
      'a message waits',
      [...STORIES['IDLE, saved'], command('TakeCheckpoint', {}), send('msg-2')],
    ],
    ['twice at once', 'talked with already', talking],
  ])('is refused %s', (_when, text, past) => {
    const refused = given(decider, ...told(...past))
      .when(talk('req-2'))
      .thenRefuses('conflict', text);
    expect(refused.hint).not.toBe('');
  });

  it('is refused where the harness cannot', () => {
    const refused = given(decider, ...story('IDLE, saved'))
      .when(command('StartTalk', { request_id: 'r', cols: 80, rows: 24, talks: false }))
      .thenRefuses('conflict', 'cannot be talked with');
    expect(refused.hint).toContain('message');
  });

  it('each has a terminal of its own; asked for twice, it is the same', () => {
    const past = told(...talking, talked(1), saved(2), talk('req-2'));
    expect(past.at(-1)).toMatchObject({ data: { terminal_id: terminalId(2) } });
    given(decider, ...past)
      .when(talk('req-2'))
      .thenNothing();
  });
});
