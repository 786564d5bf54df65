import {
  clip,
  type CardDocument,
  type SessionDocument,
  type SessionOutcome,
  type TurnDocument,
} from '@hangar/contracts';
import { HOLD_SECONDS_DEFAULT } from './fields.ts';
import type { ToolAnswer } from './tool.ts';

/** Characters shown of what a person or an agent wrote; the whole is in `activity`. */
const MESSAGE_CHARACTERS_MAX = 1000;
const ANSWER_CHARACTERS_MAX = 12_000;
const CARD_CHARACTERS_MAX = 2000;
const QUEUED_CHARACTERS_MAX = 200;
const CARDS_SHOWN_MAX = 5;
const LOSSES_SHOWN_MAX = 20;

export interface TurnAnswer {
  number: number;
  /** null while it runs. */
  outcome: string | null;
  message: string;
  /** What the agent said last. */
  answer: string;
  error: string | null;
  cost_usd: number | null;
  checkpoint_id: string | null;
}

export interface CardAnswer {
  card: string;
  kind: string;
  text: string;
  choices: string[];
  questions: { id: string; text: string; choices: string[]; is_multiple: boolean }[];
  tool: { name: string; input: string } | null;
}

/** What most tools answer: the session, what became of the message, and what to do next. */
export interface SessionAnswer {
  session: ReturnType<typeof headOf>;
  /** The time ran out before the outcome: nothing is lost, the work goes on. */
  pending: boolean;
  message_id: string | null;
  /** That of the message, else the newest one. */
  turn: TurnAnswer | null;
  cards: CardAnswer[];
  queue: { message_id: string; text: string }[];
  /** What the last resume did not bring back whole. */
  losses: string[];
  next: string;
}

export const headOf = (s: SessionDocument) => ({
  id: s.id,
  name: s.name,
  title: s.title,
  state: s.state,
  state_reason: clip(s.state_reason, MESSAGE_CHARACTERS_MAX),
  start_phase: s.start_phase,
  /** Somebody talks with the agent in a terminal: messages wait, and no turn begins. */
  talk: s.talk,
  environment: s.environment,
  harness: s.harness,
  model: s.model,
  repo: s.repo,
  branch: s.branch,
  idle_minutes: s.idle_minutes,
  turns: s.turns.length,
});

export const turnAnswer = (turn: TurnDocument): TurnAnswer => ({
  number: turn.number,
  outcome: turn.outcome,
  message: clip(turn.message, MESSAGE_CHARACTERS_MAX),
  answer: clip(turn.summary, ANSWER_CHARACTERS_MAX),
  error: turn.error === null ? null : clip(turn.error, MESSAGE_CHARACTERS_MAX),
  cost_usd: turn.usage?.cost_usd ?? null,
  checkpoint_id: turn.checkpoint_id,
});

const cardAnswer = (card: CardDocument): CardAnswer => ({
  card: card.id,
  kind: card.kind,
  text: clip(card.text, CARD_CHARACTERS_MAX),
  choices: card.choices,
  questions: card.questions.map(({ id, text, choices, is_multiple }) => ({
    id,
    text: clip(text, CARD_CHARACTERS_MAX),
    choices: choices.map(({ label }) => label),
    is_multiple,
  })),
  tool: card.tool && { ...card.tool, input: clip(card.tool.input, CARD_CHARACTERS_MAX) },
});

/** The turn that has the message: it began with it, or was steered by it. */
function turnOf(turns: TurnDocument[], messageId: string | null): TurnDocument | null {
  if (messageId === null) return turns.at(-1) ?? null;
  const has = ({ message_id, steered }: TurnDocument): boolean =>
    message_id === messageId || steered.some((each) => each.message_id === messageId);
  return turns.findLast(has) ?? null;
}

const LISTED_PARTS = ['conversation', 'commits', 'staged', 'unstaged', 'untracked'] as const;

function lossesOf({ continuity }: SessionDocument): string[] {
  if (continuity === null) return [];
  const parts = LISTED_PARTS.filter((part) => continuity[part].state !== 'kept').map((part) => {
    const { state, detail } = continuity[part];
    return `${part}: ${state}${detail ? ` (${detail})` : ''}`;
  });
  const things = continuity.losses.map(({ path, reason }) =>
    path ? `${path}: ${reason}` : reason,
  );
  return [...parts, ...things]
    .slice(0, LOSSES_SHOWN_MAX)
    .map((text) => clip(text, QUEUED_CHARACTERS_MAX));
}

/** A session as a tool answers it; `message_id` when the call was about a message. */
export function sessionAnswer(document: SessionOutcome): SessionAnswer {
  const { message_id = null, attention, queue } = document;
  const found = turnOf(document.turns, message_id);
  const answer = {
    session: headOf(document),
    pending: document.waited === false,
    message_id,
    turn: found && turnAnswer(found),
    cards: attention.slice(-CARDS_SHOWN_MAX).map(cardAnswer),
    queue: queue.map((each) => ({
      message_id: each.message_id,
      text: clip(each.text, QUEUED_CHARACTERS_MAX),
    })),
    losses: lossesOf(document),
  };
  return { ...answer, next: nextOf(answer) };
}

const WAITS_ON_ANSWER: ReadonlySet<string> = new Set(['question', 'decision']);

/** The one thing to do next, by its tool. Pure, and the same for every tool that ends here. */
export function nextOf(answer: Omit<SessionAnswer, 'next'>): string {
  const { session, pending, message_id, turn, cards } = answer;
  const named = session.state === 'ARCHIVED' ? session.id : session.name;
  const card = cards.find(({ kind }) => WAITS_ON_ANSWER.has(kind));
  if (card) return nextOfCard(named, card);
  switch (session.state) {
    case 'INTERRUPTED':
      return (
        `Call resolve_interruption with session ${named} and action "retry" (run the message ` +
        'again) or "continue" (go on without it). Work up to the newest checkpoint is safe.'
      );
    case 'FAILED':
      return `Call open_session with session ${named} to try again; its checkpoints are kept.`;
    case 'ARCHIVED':
      return 'Its record is kept, and it cannot go on: new_session starts another one.';
    default:
  }
  if (pending) {
    const about = message_id === null ? '' : `, message_id ${message_id}`;
    const begins = session.talk
      ? 'Somebody talks with the agent in a terminal; it goes on when that ends.'
      : 'It goes on by itself.';
    return (
      `${begins} Call get_session with session ${named}${about} and wait_seconds ` +
      `${HOLD_SECONDS_DEFAULT} to wait for the outcome; interrupt_session stops the turn and keeps its work.`
    );
  }
  if (turn === null || session.state === 'SUSPENDED')
    return `Call send_to_session with session ${named}; a suspended session resumes by itself.`;
  if (turn.outcome === null)
    return `A turn is at work. Call get_session with session ${named} and wait_seconds ${HOLD_SECONDS_DEFAULT} to wait for it.`;
  return (
    `Call changes with session ${named} to see the work, send_to_session for a follow-up, or ` +
    'suspend_session when nobody works with it.'
  );
}

function nextOfCard(named: string, { card, kind, questions }: CardAnswer): string {
  const with_ = `Call answer with session ${named}, card ${card}`;
  if (kind === 'decision')
    return `${with_} and verdict "allow" or "deny" (with a reason). The agent waits; so may you, for days.`;
  const given =
    questions.length > 1
      ? `answers by question id (${questions.map(({ id }) => id).join(', ')})`
      : 'text: a choice, or free text';
  return `${with_} and ${given}; ask your person when it is not yours to decide.`;
}

/** A session as text: short, and enough to go on with. */
export function sessionText(answer: SessionAnswer): string {
  const { session, turn, cards, queue, losses, message_id, pending } = answer;
  const lines = [`${session.name} (${session.id}) is ${session.state}${whyOf(session)}`];
  if (pending) lines.push('Pending: the time to wait ran out before the outcome.');
  if (message_id) lines.push(`Message: ${message_id}`);
  if (turn) lines.push(...turnLines(turn));
  for (const card of cards) lines.push(cardLine(card));
  if (queue.length > 0) lines.push(`Waiting messages: ${queue.length}`);
  if (losses.length > 0) lines.push(`Not whole since the last resume: ${losses.join('; ')}`);
  lines.push(`Next: ${answer.next}`);
  return lines.join('\n');
}

const whyOf = ({ start_phase, state_reason }: SessionAnswer['session']): string => {
  const why = start_phase ?? state_reason;
  return why ? `: ${why}` : '';
};

function turnLines({ number, outcome, answer, error }: TurnAnswer): string[] {
  return [
    `Turn ${number}: ${outcome ?? 'at work'}${error ? ` (${error})` : ''}`,
    ...(answer ? [`The agent's answer:\n${answer}`] : []),
  ];
}

function cardLine({ card, kind, text, choices, questions, tool }: CardAnswer): string {
  // The text of a card with one question is that question.
  const several = questions.length > 1 ? questions : [];
  const asked = several.map((each) => `\n  ${each.id}: ${each.text}${offered(each.choices)}`);
  const wanted = tool ? `\n  ${tool.name} ${tool.input}` : '';
  return `Card ${card} (${kind}): ${text}${offered(choices)}${asked.join('')}${wanted}`;
}

const offered = (choices: string[]): string =>
  choices.length > 0 ? ` [${choices.join(' | ')}]` : '';

/** The document that a service answered, with or without a status of its own. */
export function answered(document: SessionOutcome): ToolAnswer {
  const structured = sessionAnswer(document);
  return { text: sessionText(structured), structured };
}
