import { describe, expect, it } from '@jest/globals';
import type { Ask, SessionEvent } from '@hangar/contracts';
import { given } from '@hangar/testing';
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

const TWO: Ask = {
  ...QUESTION,
  id: 'toolu_03',
  questions: [...QUESTION.questions, { ...DECISION.questions[0]!, id: 'when', text: 'When?' }],
};

const judge = (verdict: string, reason = '', by = 'ada') =>
  command('AnswerCard', {
    card_id: askCardId(1, DECISION),
    answer: { verdict, answers: [], reason },
    answered_by: by,
  });
const interrupt = command('InterruptTurn', {});

const types = (events: { type: string }[]): string[] => events.map((e) => e.type);
const nextTurn = (events: SessionEvent[]) => {
  const event = events.findLast((e) => e.type === 'TurnRequested');
  if (event?.type !== 'TurnRequested') throw new Error('no turn was requested');
  return event.data;
};
const ASKED = STORIES['ACTIVE, asked'];
const DEFERRING = STORIES['ACTIVE, deferring'];
/** Up again: the next message becomes turn 2. */
const up = [attach(2), restored(2, 2)];

describe('what an agent asks', () => {
  it('is a card with its text, its choices and since when [A1]', () => {
    expect(decided(told(...STORIES['ACTIVE, running']), ask(1, QUESTION, 7))).toEqual([
      {
        type: 'AttentionRaised',
        data: {
          card_id: askCardId(1),
          kind: 'question',
          text: 'Which fix?',
          choices: ['A', 'B'],
          since: minute(7),
          asked: QUESTION,
          turn: 1,
        },
      },
    ]);
  });

  it('a tool call that wants leave is a card to allow or deny [A1] [A3]', () => {
    const s = sessionAfter(told(...STORIES['ACTIVE, running'], ask(1, DECISION)));
    expect(s.attention[0]).toMatchObject({ kind: 'decision', choices: ['allow', 'deny'] });
  });

  it('several questions in one ask are one card, whose choices are with the questions [A1]', () => {
    const s = sessionAfter(told(...STORIES['ACTIVE, running'], ask(1, TWO)));
    expect(s.attention[0]).toMatchObject({ text: 'Which fix?\nWhen?', choices: [] });
  });

  it('is one card, however often it is told, also after it was closed [A1]', () => {
    expect(decided(told(...ASKED), ask(1))).toEqual([]);
    expect(decided(told(...ASKED, closeAsk(1)), ask(1))).toEqual([]);
    expect(decided(told(...ASKED, answer(1)), ask(1))).toEqual([]);
  });

  it('by a run whose turn is over, or by another run, is quiet [M5]', () => {
    expect(decided(told(...STORIES['ACTIVE, ended']), ask(1))).toEqual([]);
    expect(
      decided(
        told(...STORIES['ACTIVE, running']),
        command('RaiseAsk', { run_id: runId(7), turn: 1, ask: QUESTION }),
      ),
    ).toEqual([]);
  });

  it('of a turn that is told to stop waits for nobody [A4]', () => {
    expect(decided(told(...STORIES['ACTIVE, cancelling']), ask(1))).toEqual([]);
  });
});

describe('an answer', () => {
  it('closes the card and goes to the run that asked [A2]', () => {
    const [answered, cleared, ...more] = decided(told(...ASKED), answer(1));
    expect(answered).toEqual({
      type: 'CardAnswered',
      data: {
        session_id: SESSION_ID,
        card_id: askCardId(1),
        turn: 1,
        run_id: runId(1),
        ask_id: QUESTION.id,
        answer: answerOf('B'),
        answered_by: 'ada',
        answered_at: minute(0),
      },
    });
    expect(cleared).toMatchObject({ type: 'AttentionCleared', data: { cleared_at: minute(0) } });
    expect(more).toEqual([]);
  });

  it('the first one wins: a late one is refused and hears what was decided, and by whom [A2]', () => {
    const refusal = given(decider, ...told(...ASKED, answer(1, 'B', 'ada')))
      .when(answer(1, 'A', 'bob'))
      .thenRefuses('conflict', `ada answered at ${minute(0)}: B`);
    expect(refusal.hint).toContain('the first answer counts');
  });

  it('a late one hears of a decision too, also when the turn is over [A2]', () => {
    const past = told(...STORIES['ACTIVE, running'], ask(1, DECISION), judge('deny', 'too risky'));
    for (const events of [past, [...past, ...decided(past, finish(1))]]) {
      const refusal = given(decider, ...events)
        .when(judge('allow'))
        .thenRefuses('conflict', 'deny: too risky');
      expect(refusal.message).toContain('ada');
    }
  });

  it('to a card that was never there, or that takes none, is refused [A1]', () => {
    given(decider, ...told(...STORIES['ACTIVE, running']))
      .when(answer(1))
      .thenRefuses('not_found', askCardId(1));
    const card = sessionAfter(told(...STORIES.INTERRUPTED)).attention[0]?.id ?? '';
    const refusal = given(decider, ...told(...STORIES.INTERRUPTED))
      .when(command('AnswerCard', { card_id: card, answer: answerOf('B'), answered_by: 'ada' }))
      .thenRefuses('invalid', 'interrupted');
    expect(refusal.hint).toContain('retry, continue');
  });

  it('has to answer each question, and no other [A1]', () => {
    const past = told(...STORIES['ACTIVE, running'], ask(1, TWO));
    const reply = (...ids: string[]) =>
      command('AnswerCard', {
        card_id: askCardId(1, TWO),
        answer: {
          verdict: 'allow',
          answers: ids.map((question_id) => ({ question_id, text: 'A' })),
          reason: '',
        },
        answered_by: 'ada',
      });
    given(decider, ...past)
      .when(reply('which'))
      .thenRefuses('invalid', 'each question');
    given(decider, ...past)
      .when(reply('which', 'which'))
      .thenRefuses('invalid', 'each question');
    const refusal = given(decider, ...past)
      .when(reply('which', 'when', 'where'))
      .thenRefuses('invalid', 'where');
    expect(refusal.hint).toContain('which, when');
    expect(types(decided(past, reply('which', 'when')))).toContain('CardAnswered');
  });

  it('may leave a question without one, with a reason [A1]', () => {
    const deny = command('AnswerCard', {
      card_id: askCardId(1),
      answer: { verdict: 'deny', answers: [], reason: 'decide yourself' },
      answered_by: 'ada',
    });
    expect(types(decided(told(...ASKED), deny))).toContain('CardAnswered');
  });
});

describe('several asks in one turn', () => {
  const both = [...ASKED, ask(1, DECISION)];

  it('are cards of their own, each with its own answer [A1] [A2]', () => {
    const s = sessionAfter(told(...both, answer(1)));
    expect(s.attention.map((c) => c.kind)).toEqual(['decision']);
    expect(decided(told(...both, answer(1), judge('allow')), closeAsk(1, DECISION))).toEqual([]);
  });

  it('answered before the turn is deferred on the other one, an answer is not told twice [A2]', () => {
    const events = told(...both, answer(1), suspend(), finish(1, 'deferred'), record(1));
    expect(sessionAfter(events).queue).toEqual([]);
    expect(sessionAfter(events).phase.state).toBe('SUSPENDING');
  });

  it('all stay open over a suspend; the first answer resumes, and the agent asks again for the other [A3]', () => {
    const saved = [record(1), record(2, { reason: 'suspend' })];
    const release = command('FinishRelease', { sandbox_id: sandboxId(1), cause: 'asked' });
    const past = told(...both, suspend(), finish(1, 'deferred'), ...saved, release);
    expect(sessionAfter(past).attention.map((c) => c.kind)).toEqual(['question', 'decision']);
    const events = [...past];
    for (const next of [judge('allow'), ...up]) events.push(...decided(events, next));
    expect(nextTurn(events).answered).toEqual({
      ask: DECISION,
      answer: { verdict: 'allow', answers: [], reason: '' },
    });
    expect(sessionAfter(events).attention).toEqual([]);
    given(decider, ...events)
      .when(answer(1))
      .thenRefuses('conflict', 'asks again if it has to');
  });

  it('answered one after the other while suspended, each goes on once [A2]', () => {
    const saved = [record(1), record(2, { reason: 'suspend' })];
    const release = command('FinishRelease', { sandbox_id: sandboxId(1), cause: 'asked' });
    const past = told(...both, suspend(), finish(1, 'deferred'), ...saved, release);
    const events = [...past, ...decided(past, answer(1))];
    const second = decided(events, judge('allow'));
    expect(types(second)).toEqual(['CardAnswered', 'AttentionCleared', 'MessageQueued']);
    expect(sessionAfter([...events, ...second]).queue).toHaveLength(2);
  });

  it('answered both before the agent goes on, both answers reach it, each once and in order [A2]', () => {
    const events = told(...both, suspend(), answer(1), judge('allow'), finish(1, 'deferred'));
    expect(sessionAfter(events).queue.map((m) => [m.mode, m.text.slice(0, 13)])).toEqual([
      ['answer', 'Your question'],
      ['answer', 'You asked for'],
    ]);
    const later = [...events];
    for (const next of [record(1), finish(2), record(2, { turn: 2 })])
      later.push(...decided(later, next));
    const turns = later.filter((e) => e.type === 'TurnRequested').slice(1);
    expect(turns.map((t) => [t.data.answered?.ask.id, t.data.message.slice(0, 13)])).toEqual([
      [QUESTION.id, 'Your question'],
      // Its call is over by now: it is told in words.
      [undefined, 'You asked for'],
    ]);
  });
});

describe('after a cancel an old card authorises nothing [A4]', () => {
  it.each([
    ['interrupt', interrupt],
    ['an interrupting message', send('msg-9', 0, 'interrupt')],
    ['the loss of the run', lose('vanished')],
    ['a silent run', lose('silent')],
    ['the loss of the sandbox', command('LoseSandbox', { sandbox_id: sandboxId(1), reason: 'x' })],
    ['the end of the turn', finish(1, 'failed')],
    ['its time limit', finish(1, 'timed_out')],
  ])('%s closes it, with a reason', (_what, end) => {
    for (const past of [told(...ASKED), told(...DEFERRING)]) {
      const events = [...past, ...decided(past, end)];
      expect(sessionAfter(events).attention.filter((c) => c.asked)).toEqual([]);
      const cleared = events.findLast((e) => e.type === 'AttentionCleared');
      expect(cleared?.data).toMatchObject({ card_id: askCardId(1), reason: /./ });
      given(decider, ...events)
        .when(answer(1))
        .thenRefuses('conflict', 'this card is closed');
    }
  });

  it('nor does an answer that came while the turn was ending on its question', () => {
    const past = told(...DEFERRING, answer(1), interrupt, finish(1, 'deferred'), record(1));
    expect(sessionAfter(past).queue).toEqual([]);
    expect(sessionAfter(past).phase.state).toBe('IDLE');
  });

  it('a turn that was cancelled and ended on its question does not wait for an answer', () => {
    const s = sessionAfter(told(...DEFERRING, interrupt, finish(1, 'deferred'), record(1)));
    expect(s.phase.state).toBe('IDLE');
    expect(s.attention).toEqual([]);
  });
});

describe('what the harness gives up', () => {
  it('is closed: the agent waits for it no more [A4]', () => {
    expect(decided(told(...ASKED), closeAsk(1, QUESTION, 5))).toEqual([
      {
        type: 'AttentionCleared',
        data: {
          card_id: askCardId(1),
          reason: 'the agent waits for it no more',
          cleared_at: minute(5),
        },
      },
    ]);
  });

  it('while the turn ends on it stays open: whether it was deferred, its end says [A2]', () => {
    expect(decided(told(...DEFERRING), closeAsk(1))).toEqual([]);
    expect(sessionAfter(told(...DEFERRING, closeAsk(1), finish(1))).attention).toEqual([]);
  });
});

describe('permissions', () => {
  const rules = [{ tool: 'Bash', pattern: 'git *', verdict: 'allow' }];
  const change = command('ChangePermissions', { mode: 'ask', rules });

  it('hold from the next turn on; a run keeps those it was started with [A3]', () => {
    const past = told(...STORIES['ACTIVE, running'], change, finish(1), record(1));
    expect(nextTurn(past).permissions).toEqual({ mode: 'all', rules: [] });
    expect(nextTurn([...past, ...decided(past, send('msg-2'))]).permissions).toEqual({
      mode: 'ask',
      rules,
    });
  });

  it('the same again are quiet [A3]', () => {
    expect(decided(told(...STORIES.IDLE, change), change)).toEqual([]);
  });
});
