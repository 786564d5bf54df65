import { HangarError, deriveId, type SessionEvent } from '@hangar/contracts';
import { answerMessage, askText } from '../answer-text.ts';
import type { CommandOf } from '../session.commands.ts';
import { isAsk, isOpenTurn, openAsks, turnOf, type AskCard, type Session } from '../session.ts';
import { ended } from './lifecycle.ts';
import { always, inOrder, resume, turnOrIdle, type Step } from './steps.ts';

/** Of one turn at a time, so that asking again after a resume is a card of its own. */
const cardId = (s: Session, turn: number, askId: string): string =>
  deriveId('card', s.id, 'ask', turn, askId);

/** The agent waits on a person [A1]. */
export function raiseAsk(s: Session, { data, now }: CommandOf<'RaiseAsk'>): SessionEvent[] {
  if (!isOpenTurn(s, data)) return [];
  const card_id = cardId(s, data.turn, data.ask.id);
  const isKnown =
    s.attention.some((c) => c.id === card_id) || s.answered.some((a) => a.card_id === card_id);
  if (isKnown) return [];
  const { ask, turn } = data;
  const [question] = ask.questions;
  const choices =
    ask.kind === 'decision'
      ? ['allow', 'deny']
      : ask.questions.length === 1
        ? (question?.choices ?? []).map(({ label }) => label)
        : [];
  const card = { card_id, kind: ask.kind, text: askText(ask), choices, since: now };
  return [{ type: 'AttentionRaised', data: { ...card, asked: ask, turn } }];
}

/** Answered elsewhere, or given up by the harness: the card authorises nothing any more [A4]. */
export function closeAsk(s: Session, { data }: CommandOf<'CloseAsk'>): SessionEvent[] {
  const { phase } = s;
  // What a turn is deferred on stays open; whether it was deferred, its end says.
  if (phase.state === 'ACTIVE' && phase.step === 'deferring') return [];
  if (!isOpenTurn(s, data)) return [];
  const id = cardId(s, data.turn, data.ask_id);
  if (!s.attention.some((c) => c.id === id)) return [];
  return [
    { type: 'AttentionCleared', data: { card_id: id, reason: 'the agent waits for it no more' } },
  ];
}

/** The first answer wins; a late one hears what was decided [A2]. */
export function answerCard(s: Session, { data, now }: CommandOf<'AnswerCard'>): SessionEvent[] {
  if (s.phase.state === 'ARCHIVED' || s.phase.state === 'DELETED') throw ended(s);
  const card = openCard(s, data.card_id);
  checkAnswer(card, data.answer);
  const { turn, asked } = card;
  const answered: SessionEvent = {
    type: 'CardAnswered',
    data: {
      session_id: s.id,
      card_id: card.id,
      turn,
      run_id: turnOf(s, turn)?.run_id ?? '',
      ask_id: asked.id,
      answer: data.answer,
      answered_by: data.answered_by,
      answered_at: now,
    },
  };
  const reason = `answered by ${data.answered_by}`;
  return inOrder(
    s,
    always(answered, { type: 'AttentionCleared', data: { card_id: card.id, reason } }),
    s.deferred?.id === card.id ? passOn(now) : () => [],
  );
}

function openCard(s: Session, cardIdAsked: string): AskCard {
  const card = s.attention.find((c) => c.id === cardIdAsked);
  if (!card) {
    const before = s.answered.find((a) => a.card_id === cardIdAsked);
    if (before)
      throw new HangarError('conflict', `this card has its answer: ${before.text}`, {
        hint: 'the first answer counts; send a message to say more',
      });
    throw new HangarError('not_found', `no card ${cardIdAsked} waits in this session`, {
      hint: 'a card goes when its turn ends: see the session for what waits now',
    });
  }
  if (!isAsk(card))
    throw new HangarError('invalid', `a card of kind ${card.kind} takes no answer`, {
      hint: card.choices.length ? `use one of: ${card.choices.join(', ')}` : 'it is for reading',
    });
  return card;
}

function checkAnswer(
  { asked }: AskCard,
  { verdict, answers }: { verdict: string; answers: { question_id: string }[] },
): void {
  const known = new Set(asked.questions.map(({ id }) => id));
  const unknown = answers.find(({ question_id }) => !known.has(question_id));
  if (unknown)
    throw new HangarError('invalid', `the card has no question ${unknown.question_id}`, {
      hint: `its questions are: ${[...known].join(', ')}`,
    });
  if (asked.kind === 'question' && verdict === 'allow' && answers.length < known.size)
    throw new HangarError('invalid', 'each question of the card needs an answer', {
      hint: 'answer all of them, or deny with a reason',
    });
}

/** The turn has ended on the question: the answer goes on as the next one [A2]. */
export const passOn =
  (now: string): Step =>
  (s) => {
    if (!s.given) return [];
    const { card_id, ask, answer, turn } = s.given;
    return inOrder(
      s,
      always({
        type: 'MessageQueued',
        data: {
          message_id: deriveId('msg', s.id, 'answer', turn, card_id),
          text: answerMessage(ask, answer),
          mode: 'answer',
          queued_at: now,
        },
      }),
      (after) => {
        const { phase } = after;
        if (phase.state === 'IDLE' && !after.checkpointing)
          return turnOrIdle('a question was answered', now)(after);
        return phase.state === 'SUSPENDED' || phase.state === 'FAILED'
          ? resume('a question was answered', now)(after)
          : [];
      },
    );
  };

/** Ends a turn that waits on a person, so that the session can suspend with the card open [A2]. */
export function deferTurn(s: Session, reason: string): SessionEvent[] {
  const { phase } = s;
  if (phase.state !== 'ACTIVE' || phase.step !== 'running' || openAsks(s).length === 0) return [];
  const run_id = turnOf(s, phase.turn)?.run_id ?? '';
  const data = { session_id: s.id, turn: phase.turn, run_id, reason };
  return [{ type: 'DeferRequested', data }];
}
