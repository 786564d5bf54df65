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
        phase: { state: 'SUSPENDING', sandbox, step: 'checkpoint', automatic, force, reason },
      };
    }
    case 'SuspendAborted':
      return { ...s, state_reason: event.data.reason };
    case 'SandboxReleaseRequested':
      return s.phase.state === 'SUSPENDING' ? { ...s, phase: { ...s.phase, step: 'release' } } : s;
    case 'SandboxKeepRequested':
      return s;
    case 'SandboxReleased':
      return released(s, event.data.sandbox_id);
    case 'SessionSuspended':
      return {
        ...s,
        checkpointing: null,
        state_reason: event.data.reason,
        phase: { state: 'SUSPENDED' },
      };
    case 'SessionArchived':
      return {
        ...s,
        checkpointing: null,
        queue: [],
        attention: [],
        state_reason: 'archived',
        phase: { state: 'ARCHIVED', sandbox: heldSandbox(s) },
      };
    case 'SessionDeleted':
      return {
        ...s,
        checkpointing: null,
        queue: [],
        attention: [],
        state_reason: `deleted by ${event.data.deleted_by}`,
        phase: { state: 'DELETED', sandbox: heldSandbox(s) },
      };
  }
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
