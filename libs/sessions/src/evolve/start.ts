import type { SessionEvents } from '@hangar/contracts';
import { heldSandbox, type Session } from '../session.ts';
import { idle, withNotes, type Named } from './parts.ts';
import { counted } from '../counted.ts';

function resumed(s: Session, d: SessionEvents['SessionResumed']): Session {
  const cards = s.attention.filter((c) => c.kind === 'lost_state').map((c) => c.text);
  const older =
    d.turns_older > 0 ? [`the restored state is ${counted(d.turns_older, 'turn')} older`] : [];
  const losses = d.continuity.losses.map((l) => (l.path ? `${l.path}: ${l.reason}` : l.reason));
  const used = s.checkpoints.findIndex((c) => c.id === d.checkpoint_id);
  return {
    ...s,
    continuity: d.continuity,
    last_checkpoint_at: d.resumed_at,
    // Newer ones could not be restored: "nothing changed since" must not be said of those.
    checkpoints: s.checkpoints.map((c, i) => (i > used ? { ...c, fingerprint: null } : c)),
    phase: idle(s, d.resumed_at),
    state_reason: d.checkpoint_id ? `resumed from ${d.checkpoint_id}` : 'resumed from nothing',
    notes: withNotes(s.notes, [...cards, ...older, ...losses]),
  };
}

export function evolveStart(
  s: Session,
  event: Named<
    | 'SandboxRequested'
    | 'StartPhaseChanged'
    | 'SandboxAttached'
    | 'RestoreRequested'
    | 'SessionStarted'
    | 'ResumeRequested'
    | 'SessionResumed'
    | 'SessionFailed'
  >,
): Session {
  const { phase } = s;
  const starting = phase.state === 'STARTING' || phase.state === 'RESUMING' ? phase : null;
  switch (event.type) {
    case 'ResumeRequested':
      return { ...s, state_reason: event.data.reason };
    case 'SandboxRequested': {
      const d = event.data;
      return {
        ...s,
        epoch: d.epoch,
        state_reason: d.purpose === 'resume' ? 'resuming' : 'starting',
        phase: {
          state: d.purpose === 'resume' ? 'RESUMING' : 'STARTING',
          sandbox: { id: d.sandbox_id, epoch: d.epoch, harness: d.harness, place: null },
          restoring: null,
          step: 'requested',
          text: 'waiting for a sandbox',
          since: d.requested_at,
        },
      };
    }
    case 'StartPhaseChanged':
      if (!starting) return s;
      return {
        ...s,
        state_reason: event.data.text,
        phase: { ...starting, step: event.data.phase, text: event.data.text },
      };
    case 'SandboxAttached':
      if (!starting) return s;
      return {
        ...s,
        attached_epoch: event.data.epoch,
        phase: { ...starting, sandbox: { ...starting.sandbox, place: event.data.place } },
      };
    case 'RestoreRequested':
      if (!starting) return s;
      return {
        ...s,
        state_reason: `restoring ${event.data.checkpoint_id}`,
        phase: {
          ...starting,
          step: 'restoring',
          text: `restoring ${event.data.checkpoint_id}`,
          restoring: { checkpoint_id: event.data.checkpoint_id, attempt: event.data.attempt },
        },
      };
    case 'SessionStarted':
      return {
        ...s,
        last_checkpoint_at: event.data.started_at,
        phase: idle(s, event.data.started_at),
        state_reason: 'ready',
      };
    case 'SessionResumed': {
      return resumed(s, event.data);
    }
    case 'SessionFailed':
      return {
        ...s,
        state_reason: event.data.reason,
        checkpointing: null,
        phase: { state: 'FAILED', sandbox: heldSandbox(s) },
      };
  }
}
