import { heldSandbox, type Session } from '../session.ts';
import type { Named } from './parts.ts';

export function evolveEnd(
  s: Session,
  event: Named<
    | 'SuspendRequested'
    | 'SuspendAborted'
    | 'SandboxReleaseRequested'
    | 'SandboxKeepRequested'
    | 'SandboxReleased'
    | 'SessionSuspended'
    | 'SessionArchived'
    | 'SessionDeleted'
  >,
): Session {
  switch (event.type) {
    case 'SuspendRequested': {
      const sandbox = heldSandbox(s);
      if (!sandbox) throw new Error('suspend without a sandbox: the log is broken');
      const { automatic, force, reason } = event.data;
      return {
        ...s,
        state_reason: reason,
        phase: {
          state: 'SUSPENDING',
          sandbox,
          step: 'checkpoint',
          automatic,
          force,
          reason,
          release_requested_at: null,
          interrupted_turn: undecidedTurn(s),
        },
      };
    }
    case 'SuspendAborted':
      return { ...s, state_reason: event.data.reason };
    case 'SandboxReleaseRequested':
      if (s.phase.state !== 'SUSPENDING' || s.phase.sandbox.id !== event.data.sandbox_id) return s;
      return {
        ...s,
        phase: {
          ...s.phase,
          step: 'release',
          release_requested_at: event.data.requested_at,
        },
      };
    case 'SandboxKeepRequested':
      return s;
    case 'SandboxReleased':
      return released(s, event.data.sandbox_id);
    case 'SessionSuspended':
      return {
        ...s,
        checkpointing: null,
        talk_unsaved: false,
        state_reason: event.data.reason,
        phase: { state: 'SUSPENDED' },
      };
    case 'SessionArchived':
      return {
        ...s,
        checkpointing: null,
        queue: [],
        attention: [],
        limited: null,
        state_reason: 'archived',
        phase: { state: 'ARCHIVED', sandbox: heldSandbox(s) },
      };
    case 'SessionDeleted':
      return {
        ...s,
        checkpointing: null,
        queue: [],
        attention: [],
        limited: null,
        state_reason: `deleted by ${event.data.deleted_by}`,
        phase: { state: 'DELETED', sandbox: heldSandbox(s) },
      };
  }
}

function undecidedTurn(s: Session): number | null {
  if (s.phase.state === 'INTERRUPTED') return s.phase.turn;
  return s.phase.state === 'SUSPENDING' ? s.phase.interrupted_turn : null;
}

/** States that can be without a sandbox let go of it; the others change state by an event of their own. */
function released(s: Session, sandboxId: string): Session {
  const { phase } = s;
  if (heldSandbox(s)?.id !== sandboxId) return s;
  switch (phase.state) {
    case 'INTERRUPTED':
    case 'FAILED':
    case 'ARCHIVED':
    case 'DELETED':
      return { ...s, phase: { ...phase, sandbox: null } };
    default:
      return s;
  }
}
