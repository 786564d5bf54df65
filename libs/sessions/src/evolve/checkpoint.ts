import type { Session, SessionCheckpoint } from '../session.ts';
import { withTurn, type Named } from './parts.ts';

export function evolveCheckpoint(
  s: Session,
  event: Named<
    | 'CheckpointDue'
    | 'CheckpointRecorded'
    | 'CheckpointStillGood'
    | 'CheckpointMissed'
    | 'CheckpointsDropped'
  >,
): Session {
  switch (event.type) {
    case 'CheckpointDue': {
      const d = event.data;
      return {
        ...s,
        checkpoint_number: s.checkpoint_number + 1,
        checkpointing: { id: d.checkpoint_id, reason: d.reason, due_at: d.due_at },
      };
    }
    case 'CheckpointRecorded': {
      const d = event.data;
      const checkpoint: SessionCheckpoint = {
        id: d.checkpoint_id,
        reason: d.reason,
        turn: d.turn,
        taken_at: d.taken_at,
        complete: d.complete,
        head: d.head ?? null,
        base: d.base ?? null,
        bytes: d.bytes,
        parts: d.parts,
        skipped: d.skipped,
        warnings: d.warnings,
        fingerprint: d.fingerprint ?? null,
      };
      const next = { ...s, checkpointing: null, last_checkpoint_at: d.taken_at };
      next.checkpoints = [...s.checkpoints, checkpoint];
      return d.reason === 'turn'
        ? withTurn(next, d.turn, (t) => ({ ...t, checkpoint_id: d.checkpoint_id }))
        : next;
    }
    case 'CheckpointStillGood': {
      const d = event.data;
      const next = { ...s, last_checkpoint_at: s.checkpointing?.due_at ?? s.last_checkpoint_at };
      next.checkpointing = null;
      // It stands for this turn's end too: a resume from it is not older than the turn.
      next.checkpoints = s.checkpoints.map((c) =>
        c.id === d.checkpoint_id ? { ...c, turn: d.turn } : c,
      );
      return d.reason === 'turn'
        ? withTurn(next, d.turn, (t) => ({ ...t, checkpoint_id: d.checkpoint_id }))
        : next;
    }
    case 'CheckpointMissed':
      return { ...s, checkpointing: null, last_checkpoint_at: event.data.missed_at };
    case 'CheckpointsDropped':
      return {
        ...s,
        checkpoints: s.checkpoints.filter((c) => !event.data.checkpoint_ids.includes(c.id)),
      };
  }
}
