import { USAGE_LIMIT_DAYS_MAX, deriveId, type SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import { turnOf, type Session } from '../session.ts';
import { always, inOrder, resume, turnOrIdle, type Step } from './steps.ts';

const DAY_MS = 24 * 60 * 60_000;

const againId = (s: Session, turn: number): string => deriveId('msg', s.id, 'retry', turn);

/** The same message again, before the others [S3] [M7]. */
export const queueAgain =
  (turn: number, now: string): Step =>
  (s) => [
    {
      type: 'MessageQueued',
      data: {
        message_id: againId(s, turn),
        text: turnOf(s, turn)?.message ?? '',
        mode: 'retry',
        queued_at: now,
      },
    },
  ];

/**
 * A usage limit with a time is waited for, not burnt in retries [M7]. One without a time, or with
 * one too far away, is the plain failure that the turn ended with.
 */
export const waitForLimit =
  (turn: number, until: string | undefined, now: string): Step =>
  (s) => {
    if (until === undefined) return [];
    const ms = Date.parse(until) - Date.parse(now);
    if (!(ms > 0 && ms <= USAGE_LIMIT_DAYS_MAX * DAY_MS)) return [];
    const text = `turn ${turn} stopped at the provider's usage limit; it goes on by itself at ${until}`;
    return inOrder(
      s,
      always(
        { type: 'UsageLimitReached', data: { turn, until } },
        {
          type: 'AttentionRaised',
          data: {
            card_id: cardId(s, turn),
            kind: 'limit',
            text,
            choices: ['retry', 'continue'],
            since: now,
            turn,
          },
        },
      ),
      queueAgain(turn, now),
    );
  };

const cardId = (s: Session, turn: number): string => deriveId('card', s.id, 'usage-limit', turn);

/** Goes on with the turn that was stopped, and with what waits behind it. */
export const endLimit =
  (reason: string, now: string): Step =>
  (s) => {
    if (!s.limited) return [];
    const { turn } = s.limited;
    const card_id = cardId(s, turn);
    return inOrder(
      s,
      always({ type: 'UsageLimitEnded', data: { turn, reason } }),
      (after) =>
        after.attention.some((c) => c.id === card_id)
          ? [{ type: 'AttentionCleared', data: { card_id, reason } }]
          : [],
      (after) => {
        const { state } = after.phase;
        if (after.queue.length === 0) return [];
        if (state === 'IDLE') return after.checkpointing ? [] : turnOrIdle(reason, now)(after);
        return state === 'SUSPENDED' || state === 'FAILED' ? resume(reason, now)(after) : [];
      },
    );
  };

/** The clock: early, it is quiet. */
export function endUsageLimit(s: Session, { now }: CommandOf<'EndUsageLimit'>): SessionEvent[] {
  if (!s.limited || s.limited.until > now) return [];
  return endLimit('the usage limit has ended', now)(s);
}

/** Without the turn that was stopped; what waits behind it goes on. */
export function dropLimited(s: Session, turn: number, now: string): SessionEvent[] {
  const message_id = againId(s, turn);
  return inOrder(
    s,
    (before) =>
      before.queue.some((m) => m.message_id === message_id)
        ? [{ type: 'MessageTakenBack', data: { message_id } }]
        : [],
    endLimit('continued without it', now),
  );
}
