import { describe, expect, it } from '@jest/globals';
import {
  MESSAGE_BYTES_MAX,
  TURN_GRACE_MINUTES,
  deriveId,
  type SessionEvent,
} from '@hangar/contracts';
import { EVENT_BYTES_MAX } from '@hangar/messaging';
import { given } from '@hangar/testing';
import { wantedTimers } from './session.timers.ts';
import {
  DECISION,
  QUESTION,
  SESSION_ID,
  STORIES,
  answer,
  answerOf,
  ask,
  askCardId,
  attach,
  closeAsk,
  command,
  decided,
  decider,
  deliver,
  finish,
  lose,
  minute,
  record,
  restored,
  runId,
  sandboxId,
  send,
  sessionAfter,
  suspend,
  told,
} from './testing/stories.ts';

const idle = (minutes: number, busy = false) =>
  command('SuspendIfIdle', { last_active_at: null, busy }, minutes);
const missTurn = command('MissCheckpoint', {
  checkpoint_id: 'ckp-1a2b3c4d-1',
  reason: 'turn',
  error: 'no space left',
});

const types = (events: { type: string }[]): string[] => events.map((e) => e.type);
const nextTurn = (events: SessionEvent[]) => {
  const event = events.findLast((e) => e.type === 'TurnRequested');
  if (event?.type !== 'TurnRequested') throw new Error('no turn was requested');
  return event.data;
};
const ASKED = STORIES['ACTIVE, asked'];
const DEFERRING = STORIES['ACTIVE, deferring'];
const SUSPENDED = STORIES['SUSPENDED, asked'];
const ENDING = [...DEFERRING, finish(1, 'deferred')];
/** Up again: the next message becomes turn 2. */
const up = [attach(2), restored(2, 2)];

describe('a question may wait for days [A2]', () => {
  it('after idle_minutes without an answer the turn ends on it', () => {
    const past = told(...STORIES['ACTIVE, running'], ask(1, QUESTION, 10));
    expect(decided(past, idle(39))).toEqual([]);
    given(decider, ...past)
      .when(idle(40))
      .then({
        type: 'DeferRequested',
        data: {
          session_id: SESSION_ID,
          turn: 1,
          run_id: runId(1),
          reason: 'waited 30 minutes for an answer',
          requested_at: minute(40),
        },
      });
  });

  it('counts from what a person did last: an answer to another ask, or a message', () => {
    const late = answer(1, 'B', 'ada', 25);
    const other = told(...ASKED, ask(1, DECISION), late);
    expect(decided(other, idle(54))).toEqual([]);
    expect(types(decided(other, idle(55)))).toEqual(['DeferRequested']);
    const spoken = told(...ASKED, send('msg-2', 20));
    expect(decided(spoken, idle(49))).toEqual([]);
    expect(types(decided(spoken, idle(50)))).toEqual(['DeferRequested']);
  });

  it('not while somebody is at work in the sandbox, and not where it is kept up [X4]', () => {
    expect(decided(told(...ASKED), idle(100, true))).toEqual([]);
    const kept = told(...ASKED, command('KeepSession', { idle_minutes: 0 }));
    expect(decided(kept, idle(1000))).toEqual([]);
    expect(types(decided(kept, suspend()))).toEqual(['DeferRequested']);
  });

  it('a turn at work is not deferred, by the clock or by a person [X4]', () => {
    expect(decided(told(...STORIES['ACTIVE, running']), idle(1000))).toEqual([]);
    given(decider, ...told(...ASKED, answer(1)))
      .when(suspend())
      .thenRefuses('conflict', 'at work');
  });

  it('its work is saved and the session suspends with the card open', () => {
    const s = sessionAfter(told(...SUSPENDED));
    expect(s.phase.state).toBe('SUSPENDED');
    expect(s.turns[0]).toMatchObject({ outcome: 'deferred' });
    expect(s.attention.map((c) => c.id)).toEqual([askCardId(1)]);
    expect(types(told(...SUSPENDED)).filter((t) => t === 'AttentionCleared')).toEqual([]);
  });

  it('the message of a turn that ended on its question was delivered [M4]', () => {
    const events = told(...STORIES['ACTIVE, requested'], ask(1), finish(1, 'deferred'));
    expect(types(events)).toContain('MessageDelivered');
  });

  it('the answer resumes the session and is the next turn, with what was asked', () => {
    const events = told(...SUSPENDED, answer(1), ...up);
    expect(types(events)).toContain('ResumeRequested');
    expect(nextTurn(events)).toMatchObject({
      turn: 2,
      message_id: deriveId('msg', SESSION_ID, 'answer', askCardId(1)),
      message: 'Your question «Which fix?» was answered: B.\nContinue.',
      answered: { ask: QUESTION, answer: answerOf('B') },
    });
    expect(sessionAfter(events).attention).toEqual([]);
  });

  it('goes before what waits, and nothing but a retry goes before it', () => {
    const sends = [send('msg-2'), answer(1), send('msg-3', 0, 'interrupt')];
    const s = sessionAfter(told(...STORIES['ACTIVE, deferring'], finish(1, 'deferred'), ...sends));
    expect(s.queue.map((m) => m.mode)).toEqual(['answer', 'interrupt', 'auto']);
  });

  it.each([
    ['while the turn is being saved', ENDING],
    ['while it suspends', [...ENDING, record(1)]],
    ['while its sandbox goes', [...ENDING, record(1), record(2, { reason: 'suspend' })]],
  ])('an answer %s is not lost', (_when, before) => {
    const past = told(...before);
    const events = [...past, ...decided(past, answer(1))];
    expect(sessionAfter(events).queue.map((m) => m.mode)).toEqual(['answer']);
    expect(types(events.slice(past.length))).not.toContain('ResumeRequested');
  });

  it('an answer in time goes on in the same sandbox, without a suspend', () => {
    const events = told(...ENDING, answer(1), record(1));
    expect(nextTurn(events)).toMatchObject({ turn: 2, answered: { ask: QUESTION } });
    expect(types(events)).not.toContain('SuspendRequested');
  });

  it('opened by a person, it waits with its card; the answer starts at once', () => {
    const past = told(...SUSPENDED, command('OpenSession', {}), ...up);
    expect(sessionAfter(past).phase.state).toBe('IDLE');
    expect(types(decided(past, answer(1)))).toEqual([
      'CardAnswered',
      'AttentionCleared',
      'MessageQueued',
      'TurnRequested',
    ]);
  });

  it('is answered while a checkpoint is being taken: the turn waits for a still tree', () => {
    const open = [...SUSPENDED, command('OpenSession', {}), ...up];
    const past = told(...open, command('TakeCheckpoint', {}));
    expect(types(decided(past, answer(1)))).not.toContain('TurnRequested');
  });

  it('is answered after a start that failed: it tries again', () => {
    const failed = command('FailStart', {
      sandbox_id: sandboxId(2),
      phase: 'cloning',
      reason: 'no such branch',
    });
    const past = told(...SUSPENDED, command('OpenSession', {}), failed);
    expect(types(decided(past, answer(1)))).toContain('SandboxRequested');
  });

  it('work that cannot be saved keeps the sandbox, and the answer goes on in it [X3]', () => {
    const past = told(
      ...ENDING,
      missTurn,
      command('MissCheckpoint', { checkpoint_id: 'ckp-1a2b3c4d-2', reason: 'suspend', error: 'x' }),
    );
    expect(sessionAfter(past).phase.state).toBe('IDLE');
    expect(sessionAfter(past).attention.map((c) => c.kind)).toEqual(['question', 'limit']);
    expect(types(decided(past, answer(1)))).toContain('TurnRequested');
  });

  it('its sandbox lost while it is being saved, the card stays', () => {
    const lost = command('LoseSandbox', { sandbox_id: sandboxId(1), reason: 'host down' });
    const s = sessionAfter(told(...ENDING, lost));
    expect(s.phase.state).toBe('SUSPENDED');
    expect(s.attention.map((c) => c.kind)).toEqual(['question', 'lost_state']);
  });

  it('archive and delete close the card', () => {
    for (const end of [
      command('ArchiveSession', {}),
      command('DeleteSession', { force: false, deleted_by: 'owner:ada' }),
    ])
      expect(sessionAfter(told(...SUSPENDED, end)).attention).toEqual([]);
    given(decider, ...told(...SUSPENDED, command('ArchiveSession', {})))
      .when(answer(1))
      .thenRefuses('conflict', 'archived');
  });
});

describe('an answer while the turn is ending on its question', () => {
  it('waits for the end, and is then the next turn, once [A2]', () => {
    const past = told(...DEFERRING, answer(1));
    expect(sessionAfter(past).queue).toEqual([]);
    const events = [...past];
    for (const next of [finish(1, 'deferred'), record(1)]) events.push(...decided(events, next));
    expect(nextTurn(events)).toMatchObject({ answered: { ask: QUESTION, answer: answerOf('B') } });
    expect(types(events).filter((t) => t === 'MessageQueued')).toHaveLength(2);
  });

  it('is still due when the turn ended otherwise, and over when a person cancelled it [A4]', () => {
    const failed = sessionAfter(told(...DEFERRING, answer(1), finish(1, 'failed'), record(1)));
    expect(failed.turns.at(-1)?.answered?.answer.answers).toMatchObject([{ text: 'B' }]);
    const cancelled = sessionAfter(
      told(
        ...DEFERRING,
        answer(1),
        command('InterruptTurn', {}),
        finish(1, 'cancelled'),
        record(1),
      ),
    );
    expect([cancelled.queue, cancelled.phase.state]).toEqual([[], 'IDLE']);
  });
});

describe('a message in the place of an answer', () => {
  it('is the answer, in the person’s own words [A2]', () => {
    const events = told(...SUSPENDED, send('msg-2'), ...up);
    expect(nextTurn(events)).toMatchObject({
      message_id: 'msg-2',
      answered: { ask: QUESTION, answer: answerOf('please msg-2') },
    });
    expect(sessionAfter(events).attention).toEqual([]);
  });

  it('however long, and to however many questions, is an event that the log takes', () => {
    const questions = Array.from({ length: 20 }, (_, at) => ({
      ...QUESTION.questions[0],
      id: `q${at}`,
    })) as typeof QUESTION.questions;
    const longest = command('SendMessage', {
      message_id: 'msg-2',
      text: 'x'.repeat(MESSAGE_BYTES_MAX),
      mode: 'auto',
      steers: false,
    });
    const asked = ask(1, { ...QUESTION, questions });
    const deferred = [suspend(), finish(1, 'deferred'), longest, record(1)];
    const turn = nextTurn(told(...STORIES['ACTIVE, running'], asked, ...deferred));
    expect(turn.answered?.answer.answers).toHaveLength(20);
    expect(turn.message).toHaveLength(MESSAGE_BYTES_MAX);
    expect(Buffer.byteLength(JSON.stringify(turn))).toBeLessThan(EVENT_BYTES_MAX);
  });

  it('makes a later answer late: it hears what came in its place [A2]', () => {
    const refusal = given(decider, ...told(...SUSPENDED, send('msg-2'), ...up))
      .when(answer(1))
      .thenRefuses('conflict', 'a message came in the place of an answer');
    expect(refusal.hint).toContain('send a message to say more');
  });

  it('until it begins, an answer still goes first [A2]', () => {
    const events = told(...SUSPENDED, send('msg-2'), answer(1), ...up);
    expect(nextTurn(events).answered?.answer).toEqual(answerOf('B'));
    expect(sessionAfter(events).queue.map((m) => m.message_id)).toEqual([
      deriveId('msg', SESSION_ID, 'answer', askCardId(1)),
      'msg-2',
    ]);
  });

  it('of a decision it is a refusal that says it, never leave [A3] [A4]', () => {
    const deciding = told(
      ...STORIES['ACTIVE, running'],
      ask(1, DECISION),
      suspend(),
      finish(1, 'deferred'),
      send('msg-2'),
      record(1),
    );
    expect(nextTurn(deciding).answered).toEqual({
      ask: DECISION,
      answer: { verdict: 'deny', answers: [], reason: 'please msg-2' },
    });
  });

  it('that waited behind the question goes on when the person does not answer [A2]', () => {
    const events = told(...ASKED, send('msg-2', 5), idle(40), finish(1, 'deferred'), record(1));
    expect(nextTurn(events)).toMatchObject({ message_id: 'msg-2', answered: { ask: QUESTION } });
  });

  it('also where the answer was taken back before the agent had it [M4]', () => {
    const id = deriveId('msg', SESSION_ID, 'answer', askCardId(1));
    const back = command('TakeBackMessage', { message_id: id });
    const events = told(...SUSPENDED, answer(1), back, ...up, send('msg-2'));
    expect(nextTurn(events)).toMatchObject({ message_id: 'msg-2', answered: { ask: QUESTION } });
  });
});

describe('a turn that begins with an answer', () => {
  const resumed = [...SUSPENDED, answer(1), ...up];

  it('that was cut begins with it again on `retry` [S3]', () => {
    const cut = [...resumed, lose('vanished', 2), record(3, { turn: 2, epoch: 2 })];
    const events = told(...cut, command('RetryTurn', {}));
    expect(nextTurn(events)).toMatchObject({ turn: 3, answered: { ask: QUESTION } });
  });

  it('has no prompt, so what was lost is told in the next one, and its card stays [R2]', () => {
    const losses = [{ path: 'big.bin', reason: 'too large' }];
    const past = told(
      ...SUSPENDED,
      answer(1),
      attach(2),
      restored(2, 2, losses),
      deliver(2, deriveId('msg', SESSION_ID, 'answer', askCardId(1))),
    );
    expect(sessionAfter(past).attention.map((c) => c.kind)).toEqual(['lost_state']);
    const events = [...past];
    const then = [finish(2), record(3, { turn: 2, epoch: 2 }), send('msg-3'), deliver(3, 'msg-3')];
    for (const next of then) events.push(...decided(events, next));
    expect(nextTurn(events).notes).toContain('big.bin: too large');
    expect(sessionAfter(events).attention).toEqual([]);
  });
});

describe('the clock of a turn that waits on a person', () => {
  const SETTINGS = { startDeadlineMinutes: 15, checkpointMinutes: 10 };
  const turnDue = (events: SessionEvent[]): string | undefined =>
    wantedTimers(sessionAfter(events), SETTINGS).find(({ kind }) => kind === 'turn')?.dueAt;
  const DAYS = 2 * 24 * 60;
  const answerAt = (minutes: number) => answer(1, 'B', 'ada', minutes);

  it('has no deadline while it waits [A2] [M7]', () => {
    expect(turnDue(told(...ASKED))).toBeUndefined();
  });

  it.each([
    ['answered', [answerAt(DAYS)]],
    ['given up by the harness', [closeAsk(1, QUESTION, DAYS)]],
    ['told to end on its question', [suspend(false, DAYS)]],
    ['told to stop', [command('InterruptTurn', {}, DAYS)]],
  ])('counts anew once it is %s: waiting is not the agent’s time [M7]', (_how, end) => {
    expect(turnDue(told(...ASKED, ...end))).toBe(minute(DAYS + 60 + TURN_GRACE_MINUTES));
  });

  it('still waits while one of several asks is open', () => {
    expect(turnDue(told(...ASKED, ask(1, DECISION), answerAt(5)))).toBeUndefined();
  });
});
