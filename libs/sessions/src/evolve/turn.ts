import { clip, type SessionEvents } from '@hangar/contracts';
import { TURN_TEXT_CHARACTERS_MAX } from '../turn-text.ts';
import { heldSandbox, turnOf, type Session, type Turn } from '../session.ts';
import { idle, withNotes, withTurn, type Named } from './parts.ts';

export function evolveTurn(
  s: Session,
  event: Named<
    | 'TurnRequested'
    | 'TurnStarted'
    | 'TurnCancelRequested'
    | 'DeferRequested'
    | 'TurnFinished'
    | 'SessionInterrupted'
    | 'InterruptionResolved'
    | 'SessionIdled'
  >,
): Session {
  const { phase } = s;
  switch (event.type) {
    case 'TurnRequested':
      return turnRequested(s, event.data);
    case 'TurnStarted':
      return {
        ...withTurn(s, event.data.turn, (t) => ({ ...t, started_at: event.data.started_at })),
        state_reason: `turn ${event.data.turn} is running`,
        phase:
          phase.state === 'ACTIVE' && phase.step === 'requested'
            ? { ...phase, step: 'running' }
            : phase,
      };
    case 'TurnCancelRequested':
      return {
        ...s,
        // After a cancel an answer that was not taken authorises nothing [A4].
        given: [],
        state_reason: event.data.reason,
        phase: phase.state === 'ACTIVE' ? { ...phase, step: 'cancelling' } : phase,
      };
    case 'DeferRequested':
      return {
        ...withTurn(s, event.data.turn, (t) => ({ ...t, counts_from: event.data.requested_at })),
        state_reason: event.data.reason,
        phase: phase.state === 'ACTIVE' ? { ...phase, step: 'deferring' } : phase,
      };
    case 'TurnFinished':
      return turnFinished(s, event.data);
    case 'SessionInterrupted':
      return {
        ...s,
        state_reason: event.data.reason,
        phase: {
          state: 'INTERRUPTED',
          sandbox: event.data.sandbox_gone ? null : heldSandbox(s),
          turn: event.data.turn,
          since: event.data.interrupted_at,
        },
      };
    case 'InterruptionResolved':
      return {
        ...s,
        state_reason: `${event.data.decision} after the interruption`,
        notes: withNotes(s.notes, [
          `turn ${event.data.turn} was cut before it ended; commands it ran may have had effects`,
        ]),
      };
    case 'SessionIdled':
      return { ...s, state_reason: event.data.reason, phase: idle(s, event.data.since) };
  }
}

/** Only the newest turn may be asked for again; of the others the whole text is in the log. */
const summed = (t: Turn): Turn => {
  const message = clip(t.message, TURN_TEXT_CHARACTERS_MAX);
  return message === t.message ? t : { ...t, message };
};

function turnRequested(s: Session, d: SessionEvents['TurnRequested']): Session {
  const sandbox = heldSandbox(s);
  if (!sandbox) throw new Error('a turn without a sandbox: the log is broken');
  const turn: Turn = {
    number: d.turn,
    run_id: d.run_id,
    message_id: d.message_id,
    message: d.message,
    requested_at: d.requested_at,
    started_at: null,
    finished_at: null,
    outcome: null,
    exit_code: null,
    summary: '',
    usage: null,
    error: null,
    conversation: null,
    checkpoint_id: null,
    counts_from: d.requested_at,
    answered: d.answered ?? null,
  };
  return {
    ...s,
    turns: [...s.turns.map(summed), turn],
    // A turn that begins with an answer has no prompt: what was lost is told in the next one [R2].
    notes: d.answered ? s.notes : [],
    given: [],
    left: null,
    state_reason: `turn ${d.turn} is starting`,
    phase: { state: 'ACTIVE', sandbox, turn: d.turn, step: 'requested', since: d.requested_at },
  };
}

function turnFinished(s: Session, d: SessionEvents['TurnFinished']): Session {
  const next = withTurn(s, d.turn, (t) => ({
    ...t,
    finished_at: d.finished_at,
    outcome: d.outcome,
    exit_code: d.exit_code ?? null,
    summary: d.summary,
    usage: d.usage,
    error: d.error ?? null,
    conversation: d.conversation,
  }));
  return {
    ...next,
    // The message was this turn's; delivered or not, it does not start another by itself.
    queue: next.queue.filter((m) => m.message_id !== turnOf(s, d.turn)?.message_id),
    // A cancelled call is authorised by nothing [A4]; of any other end the answer is still due.
    given: d.outcome === 'cancelled' ? [] : next.given,
    harness_session: d.harness_session ?? next.harness_session,
    hand_off: next.hand_off && d.harness_session === undefined,
    conversation:
      d.conversation === 'native' || d.conversation === 'handoff'
        ? d.conversation
        : next.conversation,
    state_reason: `turn ${d.turn} ${d.outcome}`,
    phase: next.phase.state === 'ACTIVE' ? { ...next.phase, step: 'ended' } : next.phase,
  };
}
