import { partNumber, type Session, type SessionCheckpoint } from '../session.ts';
import { withTurn, type Named } from './parts.ts';

/** The clock of the interval never goes back, and a late one does not end the one that is going on. */
const settled = (s: Session, checkpointId: string, at: string): Session => ({
  ...s,
  checkpointing: s.checkpointing?.id === checkpointId ? null : s.checkpointing,
  last_checkpoint_at: at > s.last_checkpoint_at ? at : s.last_checkpoint_at,
});

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
        talk_unsaved: false,
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
      const next = { ...settled(s, d.checkpoint_id, d.taken_at) };
      // By number: one that came late stands where it was asked for.
      const number = partNumber(checkpoint.id);
      const before = s.checkpoints.filter((c) => partNumber(c.id) < number);
      next.checkpoints = [...before, checkpoint, ...s.checkpoints.slice(before.length)];
      next.checkpoint_settled = Math.max(s.checkpoint_settled, number);
      return d.reason === 'turn'
        ? withTurn(next, d.turn, (t) => ({ ...t, checkpoint_id: d.checkpoint_id }))
        : next;
    }
    case 'CheckpointStillGood': {
      const d = event.data;
      const next = { ...s, last_checkpoint_at: s.checkpointing?.due_at ?? s.last_checkpoint_at };
      next.checkpointing = null;
      next.checkpoint_settled = s.checkpoint_number;
      // It stands for this turn's end too: a resume from it is not older than the turn.
      next.checkpoints = s.checkpoints.map((c) =>
        c.id === d.checkpoint_id ? { ...c, turn: d.turn } : c,
      );
      return d.reason === 'turn'
        ? withTurn(next, d.turn, (t) => ({ ...t, checkpoint_id: d.checkpoint_id }))
        : next;
    }
    case 'CheckpointMissed':
      return {
        ...settled(s, event.data.checkpoint_id, event.data.missed_at),
        checkpoint_number: Math.max(s.checkpoint_number, partNumber(event.data.checkpoint_id)),
      };
    case 'CheckpointsDropped':
      return {
        ...s,
        checkpoints: s.checkpoints.filter((c) => !event.data.checkpoint_ids.includes(c.id)),
      };
  }
}
