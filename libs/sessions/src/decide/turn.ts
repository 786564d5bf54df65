import type { SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import { turnOf, type Session } from '../session.ts';
import { cancelTurn, cutTurn, interruptLost, settleMessage } from './cut.ts';
import { always, checkpointDue, clearCards, inOrder } from './steps.ts';

/** Only the run of the open turn may speak; anything else is late or doubled, and quiet [M5]. */
function openTurn(s: Session, data: { run_id: string; turn: number }): boolean {
  const { phase } = s;
  return (
    phase.state === 'ACTIVE' &&
    phase.step !== 'ended' &&
    phase.turn === data.turn &&
    turnOf(s, data.turn)?.run_id === data.run_id
  );
}

export function noteTurnStarted(
  s: Session,
  { data, now }: CommandOf<'NoteTurnStarted'>,
): SessionEvent[] {
  if (!openTurn(s, data) || turnOf(s, data.turn)?.started_at) return [];
  return [{ type: 'TurnStarted', data: { ...data, started_at: now } }];
}

export function noteDelivery(s: Session, { data }: CommandOf<'NoteDelivery'>): SessionEvent[] {
  if (!openTurn(s, data) || !s.queue.some((m) => m.message_id === data.message_id)) return [];
  return inOrder(
    s,
    always({
      type: 'MessageDelivered',
      data: { message_id: data.message_id, turn: data.turn },
    }),
    // The agent has the message and with it the lines that say what was lost [R2].
    clearCards('lost_state', 'the agent was told'),
  );
}

/** The work is done; what it left is saved before anything else happens [C2]. */
export function finishTurn(s: Session, { data, now }: CommandOf<'FinishTurn'>): SessionEvent[] {
  if (!openTurn(s, data)) return [];
  return inOrder(
    s,
    settleMessage(data.turn, data.outcome, data.error),
    always({ type: 'TurnFinished', data: { ...data, finished_at: now } }),
    checkpointDue('turn', now),
  );
}

/** The agent or its sandbox went away in mid-turn [S3]. */
export function loseTurn(s: Session, { data, now }: CommandOf<'LoseTurn'>): SessionEvent[] {
  if (!openTurn(s, data)) return [];
  const reason = data.reason || 'the run gave no reason';
  if (data.sandbox_gone) return interruptLost(data.turn, reason, now)(s);
  // The sandbox lives: what the agent did so far is saved first, then the person decides. A run
  // that is late or silent may still be at work, so it is told to stop before another can start.
  return inOrder(
    s,
    always(...cancelTurn(s, reason)),
    cutTurn(data.turn, reason, now),
    checkpointDue('turn', now),
  );
}
