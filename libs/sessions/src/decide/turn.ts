import type { SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import { isOpenTurn, turnOf, type Session } from '../session.ts';
import { passOn } from './ask.ts';
import {
  cancelTurn,
  closeAsks,
  cutTurn,
  interruptLost,
  settleMessage,
  settleOffered,
} from './cut.ts';
import { always, checkpointDue, clearCards, inOrder } from './steps.ts';
import { waitForLimit } from './usage-limit.ts';

export function noteTurnStarted(
  s: Session,
  { data, now }: CommandOf<'NoteTurnStarted'>,
): SessionEvent[] {
  if (!isOpenTurn(s, data) || turnOf(s, data.turn)?.started_at) return [];
  return [{ type: 'TurnStarted', data: { ...data, started_at: now } }];
}

export function noteDelivery(s: Session, { data }: CommandOf<'NoteDelivery'>): SessionEvent[] {
  if (!isOpenTurn(s, data) || !s.queue.some((m) => m.message_id === data.message_id)) return [];
  return inOrder(
    s,
    always({
      type: 'MessageDelivered',
      data: { message_id: data.message_id, turn: data.turn },
    }),
    // The agent has the message and with it the lines that say what was lost [R2].
    (after) => (after.notes.length ? [] : clearCards('lost_state', 'the agent was told')(after)),
  );
}

/** The harness has it not, and will not get it in this turn. */
export function returnMessage(s: Session, { data }: CommandOf<'ReturnMessage'>): SessionEvent[] {
  if (!isOpenTurn(s, data)) return [];
  return settleOffered(data.turn, data.message_id)(s);
}

/** The work is done; what it left is saved before anything else happens [C2]. */
export function finishTurn(s: Session, { data, now }: CommandOf<'FinishTurn'>): SessionEvent[] {
  if (!isOpenTurn(s, data)) return [];
  const { resets_at, ...finished } = data;
  const { turn } = data;
  const isDeferred = data.outcome === 'deferred';
  return inOrder(
    s,
    // One that the agent deferred had its message.
    settleMessage(turn, isDeferred ? 'succeeded' : data.outcome, data.error),
    settleOffered(turn),
    isDeferred ? () => [] : closeAsks(turn, `turn ${turn} ${data.outcome}`, now),
    always({ type: 'TurnFinished', data: { ...finished, finished_at: now } }),
    waitForLimit(turn, resets_at, now),
    // Answers that came while the turn was ending on its question reached nobody yet.
    (after) => passOn(after.given, now)(after),
    checkpointDue('turn', now),
  );
}

/** The agent or its sandbox went away in mid-turn [S3]. */
export function loseTurn(s: Session, { data, now }: CommandOf<'LoseTurn'>): SessionEvent[] {
  if (!isOpenTurn(s, data)) return [];
  const reason = data.reason || 'the run gave no reason';
  if (data.sandbox_gone) return interruptLost(data.turn, reason, now)(s);
  // The sandbox lives: what the agent did so far is saved first, then the person decides. A run
  // that is late or silent may still be at work, so it is told to stop before another can start.
  return inOrder(
    s,
    always(...cancelTurn(s, reason, now)),
    cutTurn(data.turn, reason, now, data.is_silent),
    checkpointDue('turn', now),
  );
}
