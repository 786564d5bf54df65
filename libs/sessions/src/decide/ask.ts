import { HangarError, deriveId, type SessionEvent } from '@hangar/contracts';
import { answerMessage, answerText, askText } from '../answer-text.ts';
import type { CommandOf } from '../session.commands.ts';
import {
  isAsk,
  isOpenTurn,
  turnOf,
  type AskCard,
  type GivenAnswer,
  type Session,
} from '../session.ts';
import { ended } from './lifecycle.ts';
import { always, inOrder, resume, turnOrIdle, type Step } from './steps.ts';

/** Of one turn at a time, so that asking again after a resume is a card of its own. */
const cardId = (s: Session, turn: number, askId: string): string =>
  deriveId('card', s.id, 'ask', turn, askId);

/** The agent waits on a person [A1]. */
export function raiseAsk(s: Session, { data, now }: CommandOf<'RaiseAsk'>): SessionEvent[] {
  if (!isOpenTurn(s, data)) return [];
  // A turn that is told to stop waits for nobody [A4].
  if (s.phase.state === 'ACTIVE' && s.phase.step === 'cancelling') return [];
  const card_id = cardId(s, data.turn, data.ask.id);
  const isKnown =
    s.attention.some((c) => c.id === card_id) || s.closed.some((c) => c.card_id === card_id);
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
export function closeAsk(s: Session, { data, now }: CommandOf<'CloseAsk'>): SessionEvent[] {
  const { phase } = s;
  // What a turn is deferred on stays open; whether it was deferred, its end says.
  if (phase.state === 'ACTIVE' && phase.step === 'deferring') return [];
  if (!isOpenTurn(s, data)) return [];
  const id = cardId(s, data.turn, data.ask_id);
  if (!s.attention.some((c) => c.id === id)) return [];
  const reason = 'the agent waits for it no more';
  return [{ type: 'AttentionCleared', data: { card_id: id, reason, cleared_at: now } }];
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
  const reason = `${data.answered_by} answered at ${now}: ${answerText(data.answer)}`;
  return inOrder(
    s,
    always(answered, {
      type: 'AttentionCleared',
      data: { card_id: card.id, reason, cleared_at: now },
    }),
    // While the turn is ending on its question, its end passes the answer on.
    isOpen(s, turn) ? () => [] : (after) => passOn(after.given.slice(-1), now)(after),
  );
}

const isOpen = ({ phase }: Session, turn: number): boolean =>
  phase.state === 'ACTIVE' && phase.step !== 'ended' && phase.turn === turn;

function openCard(s: Session, cardIdAsked: string): AskCard {
  const card = s.attention.find((c) => c.id === cardIdAsked);
  if (!card) {
    const before = s.closed.find((c) => c.card_id === cardIdAsked);
    if (before)
      throw new HangarError('conflict', `this card is closed: ${before.reason}`, {
        hint: 'the first answer counts; send a message to say more',
      });
    throw new HangarError('not_found', `no card ${cardIdAsked} waits in this session`, {
      hint: 'see the session for what waits now',
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
  const given = new Set(answers.map(({ question_id }) => question_id));
  if (asked.kind === 'question' && verdict === 'allow' && given.size < known.size)
    throw new HangarError('invalid', 'each question of the card needs an answer', {
      hint: 'answer all of them, or deny with a reason',
    });
}

/** The turn has ended on the question: each answer goes on as a turn of its own [A2]. */
export const passOn =
  (given: GivenAnswer[], now: string): Step =>
  (s) => {
    if (given.length === 0) return [];
    const messages = given.map(({ message_id, ask, answer }): SessionEvent => ({
      type: 'MessageQueued',
      data: { message_id, text: answerMessage(ask, answer), mode: 'answer', queued_at: now },
    }));
    return inOrder(s, always(...messages), (after) => {
      const { phase } = after;
      if (phase.state === 'IDLE' && !after.checkpointing)
        return turnOrIdle('a question was answered', now)(after);
      return phase.state === 'SUSPENDED' || phase.state === 'FAILED'
        ? resume('a question was answered', now)(after)
        : [];
    });
  };

/** Ends a turn that waits on a person, so that the session can suspend with the card open [A2]. */
export function deferTurn(s: Session, reason: string, now: string): SessionEvent[] {
  if (s.phase.state !== 'ACTIVE') return [];
  const { turn } = s.phase;
  const run_id = turnOf(s, turn)?.run_id ?? '';
  const data = { session_id: s.id, turn, run_id, reason, requested_at: now };
  return [{ type: 'DeferRequested', data }];
}
