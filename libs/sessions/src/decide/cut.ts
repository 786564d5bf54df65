import { sessionPartId, type SessionEvent } from '@hangar/contracts';
import { heldSandbox, isAsk, turnOf, type SandboxHold, type Session } from '../session.ts';
import { always, inOrder, interrupted, release, whyCut, type Step } from './steps.ts';

/** Asks the run to stop, once; what it asked authorises nothing from here on [A4]. */
export function cancelTurn(s: Session, reason: string, now: string): SessionEvent[] {
  const { phase } = s;
  if (phase.state !== 'ACTIVE' || phase.step === 'cancelling' || phase.step === 'ended') return [];
  const run_id = turnOf(s, phase.turn)?.run_id ?? '';
  const data = { turn: phase.turn, run_id, session_id: s.id, reason };
  return inOrder(
    s,
    always({ type: 'TurnCancelRequested', data }),
    closeAsks(phase.turn, reason, now),
  );
}

/**
 * The message of a turn that ended without word of its delivery. An agent that succeeded had it;
 * of any other end nothing is known, and `delivered` is not said on a guess [M4].
 */
export const settleMessage =
  (turn: number, outcome: string, error: string | undefined): Step =>
  (s) => {
    const id = turnOf(s, turn)?.message_id;
    if (!id || !s.queue.some((m) => m.message_id === id)) return [];
    if (outcome === 'succeeded')
      return [{ type: 'MessageDelivered', data: { message_id: id, turn } }];
    const reason = error || `turn ${turn} ${outcome} before the agent said that it had the message`;
    return [{ type: 'MessageFailed', data: { message_id: id, reason } }];
  };

/**
 * A message that was offered to a turn and not delivered waits for the next one, or is taken back
 * where a person wanted it back: exactly one of the two [M4].
 */
export const settleOffered =
  (turn: number, only?: string): Step =>
  (s) =>
    s.queue
      .filter((m) => m.offered?.turn === turn && (only === undefined || m.message_id === only))
      .map(({ message_id, offered }) =>
        offered?.wanted_back
          ? { type: 'MessageTakenBack', data: { message_id } }
          : { type: 'MessageReturned', data: { message_id, turn } },
      );

/** Of a run that says nothing it is not known what it gave to the agent, and nothing is guessed [M4]. */
const failOffered =
  (turn: number, reason: string): Step =>
  (s) =>
    s.queue
      .filter((m) => m.offered?.turn === turn)
      .map(({ message_id }) => ({
        type: 'MessageFailed',
        data: { message_id, reason: `it is not known whether the agent had it: ${reason}` },
      }));

/** Cards of a turn that waits for no answer any more [A4]. */
export const closeAsks =
  (turn: number, reason: string, now: string): Step =>
  (s) =>
    s.attention
      .filter(isAsk)
      .filter((card) => card.turn === turn)
      .map((card) => ({
        type: 'AttentionCleared',
        data: { card_id: card.id, reason, cleared_at: now },
      }));

/** Ends a turn that cannot end itself; its message is kept in the turn for a retry. */
export const cutTurn =
  (turn: number, reason: string, now: string, isSilent = false): Step =>
  (s) =>
    inOrder(
      s,
      settleMessage(turn, 'interrupted', reason),
      isSilent ? failOffered(turn, reason) : settleOffered(turn),
      closeAsks(turn, reason, now),
      always({
        type: 'TurnFinished',
        data: {
          turn,
          run_id: turnOf(s, turn)?.run_id ?? '',
          outcome: 'interrupted',
          summary: '',
          usage: { input_tokens: 0, output_tokens: 0, cached_tokens: 0 },
          error: reason,
          conversation: s.conversation,
          finished_at: now,
        },
      }),
    );

/**
 * The checkpoint that was being taken cannot come any more, nor can the one of a turn's end that
 * was to follow it: every turn's end has one outcome that says so.
 */
export const missPending =
  (error: string, now: string): Step =>
  (s) => {
    const missed = (checkpoint_id: string, reason: string): SessionEvent => ({
      type: 'CheckpointMissed',
      data: { checkpoint_id, reason, error, missed_at: now },
    });
    const events: SessionEvent[] = [];
    if (s.checkpointing) events.push(missed(s.checkpointing.id, s.checkpointing.reason));
    if (s.phase.state === 'ACTIVE' && s.checkpointing?.reason !== 'turn')
      events.push(missed(sessionPartId('ckp', s.id, s.checkpoint_number + 1), 'turn'));
    return events;
  };

/** The sandbox is known to be gone; what the sandboxes service keeps of it may go too. */
export const letGoOfLost =
  (hold: SandboxHold, cause: string, now: string): Step =>
  (s) =>
    inOrder(
      s,
      always({ type: 'SandboxReleased', data: { sandbox_id: hold.id, epoch: hold.epoch, cause } }),
      release(hold, { cause: 'lost', now }),
    );

/** The sandbox went away under a turn that was at work, or that was cut and not yet decided on. */
export const interruptLost =
  (turn: number, reason: string, now: string): Step =>
  (s) => {
    const hold = heldSandbox(s);
    const isOpen = s.phase.state === 'ACTIVE' && s.phase.step !== 'ended';
    return inOrder(
      s,
      isOpen ? cutTurn(turn, reason, now) : () => [],
      missPending(reason, now),
      hold ? letGoOfLost(hold, reason, now) : () => [],
      (after) => interrupted(turn, whyCut(after, turn), true, now)(after),
    );
  };

/** Of the agent that a person talks with, once. */
export const askToEnd =
  (reason: string): Step =>
  (s) =>
    s.talk && !s.talk.ending
      ? [
          {
            type: 'TalkEndRequested',
            data: { session_id: s.id, terminal_id: s.talk.terminal_id, reason },
          },
        ]
      : [];

/** The talk's sandbox is gone, or nobody waits for its terminal any more. */
export const cutTalk =
  (reason: string, now: string): Step =>
  (s) => {
    if (!s.talk) return [];
    const { terminal_id } = s.talk;
    return [{ type: 'TalkEnded', data: { terminal_id, reason, ended_at: now } }];
  };
