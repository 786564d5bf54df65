import {
  WEBHOOK_TEXT_CHARACTERS_MAX,
  type SessionEvent,
  type SessionEvents,
  type WebhookEvent,
  type WebhookPayload,
} from '@hangar/contracts';
import { redactShapes } from '@hangar/service-kit';

/** Events of a session that webhooks hear of. */
export type Heard = Extract<
  SessionEvent,
  { type: 'AttentionRaised' | 'AttentionCleared' | 'TurnFinished' | 'SessionFailed' }
>;

const HEARD: Record<Heard['type'], WebhookEvent> = {
  AttentionRaised: 'attention',
  AttentionCleared: 'attention',
  TurnFinished: 'turn.finished',
  SessionFailed: 'session.failed',
};

/** Under which name a webhook asks for events of this type; null: they are not sent. */
export const webhookEventOf = (type: string): WebhookEvent | null =>
  Object.hasOwn(HEARD, type) ? HEARD[type as Heard['type']] : null;

const CHOICES_MAX = 20;
const CHOICE_CHARACTERS_MAX = 200;
/** Kinds of cards that `POST .../cards/<card>/answer` takes an answer for [A1]. */
const ANSWERED_KINDS: ReadonlySet<string> = new Set(['question', 'decision']);

export interface SessionFacts {
  id: string;
  name: string;
  owner: string;
}

/** `raised` is the event that raised the card, where the event says that it was cleared. */
export function webhookPayload(
  event: Heard,
  at: string,
  session: SessionFacts,
  raised?: SessionEvents['AttentionRaised'],
): WebhookPayload | null {
  const { id: session_id, name: session_name, owner } = session;
  const of = { session_id, session_name, owner };
  switch (event.type) {
    case 'AttentionRaised':
      return { type: 'card.raised', timestamp: at, data: { ...of, ...sentCard(of, event.data) } };
    case 'AttentionCleared': {
      if (!raised) return null;
      const data = { ...of, ...sentCard(of, raised), reason: sentText(event.data.reason) };
      return { type: 'card.cleared', timestamp: at, data };
    }
    case 'TurnFinished': {
      const { turn, outcome, summary, error } = event.data;
      const told = { turn, outcome, summary: sentText(summary) };
      const data = { ...of, ...told, error: error === undefined ? null : sentText(error) };
      return { type: 'turn.finished', timestamp: at, data };
    }
    case 'SessionFailed': {
      const { phase, reason } = event.data;
      return {
        type: 'session.failed',
        timestamp: at,
        data: { ...of, phase, reason: sentText(reason) },
      };
    }
  }
}

function sentCard(
  { session_id }: { session_id: string },
  { card_id, kind, text, choices, since }: SessionEvents['AttentionRaised'],
) {
  const answers = `/api/sessions/${session_id}/cards/${card_id}/answer`;
  return {
    card: {
      id: card_id,
      kind,
      text: sentText(text),
      choices: choices.slice(0, CHOICES_MAX).map((one) => sentText(one, CHOICE_CHARACTERS_MAX)),
      since,
    },
    answer_path: ANSWERED_KINDS.has(kind) ? answers : null,
  };
}

/** Events are redacted where they are made [Z2]; what leaves the house is looked through again. */
function sentText(text: string, charactersMax = WEBHOOK_TEXT_CHARACTERS_MAX): string {
  const clean = redactShapes(text);
  if (clean.length <= charactersMax) return clean;
  return `${clean.slice(0, charactersMax - 1).toWellFormed()}…`;
}
