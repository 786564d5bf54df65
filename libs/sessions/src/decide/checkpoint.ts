import { HangarError, type SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import { turnOf, type Session, type SessionCheckpoint } from '../session.ts';
import { ended } from './lifecycle.ts';
import {
  always,
  checkpointDue,
  clearCards,
  inOrder,
  interrupted,
  newestComplete,
  raise,
  release,
  turnOrIdle,
  type Step,
} from './steps.ts';

export function takeCheckpoint(s: Session, { now }: CommandOf<'TakeCheckpoint'>): SessionEvent[] {
  const { phase } = s;
  if (phase.state === 'ARCHIVED' || phase.state === 'DELETED') throw ended(s);
  if (s.checkpointing) return [];
  if (phase.state !== 'IDLE' && phase.state !== 'ACTIVE' && phase.state !== 'INTERRUPTED')
    throw new HangarError('conflict', `the session is ${phase.state}: it has no sandbox to save`, {
      hint: 'its newest checkpoint holds its work; open it to change something',
    });
  return checkpointDue('manual', now)(s);
}

/**
 * A checkpoint that is not the one being taken is late: the session went on without it, so its
 * blobs go. The same one told twice is quiet.
 */
export function recordCheckpoint(
  s: Session,
  { data, now }: CommandOf<'RecordCheckpoint'>,
): SessionEvent[] {
  if (s.checkpoints.some((c) => c.id === data.checkpoint_id)) return [];
  if (s.checkpointing?.id !== data.checkpoint_id)
    return [
      {
        type: 'CheckpointsDropped',
        data: { session_id: s.id, checkpoint_ids: [data.checkpoint_id], reason: 'late' },
      },
    ];
  const bytes = data.parts.reduce((sum, p) => sum + p.size, 0);
  return inOrder(
    s,
    always({ type: 'CheckpointRecorded', data: { ...data, bytes } }),
    data.complete ? clearCards('limit', 'a complete checkpoint was taken') : () => [],
    prune,
    afterCheckpoint(
      data.reason,
      data.complete ? 'complete' : 'incomplete',
      data.checkpoint_id,
      now,
    ),
  );
}

export function noteUnchanged(
  s: Session,
  { data, now }: CommandOf<'NoteUnchanged'>,
): SessionEvent[] {
  if (s.checkpointing?.id !== data.checkpoint_id) return [];
  const same = s.checkpoints.find((c) => c.id === data.same_as);
  return inOrder(
    s,
    always({
      type: 'CheckpointStillGood',
      data: { checkpoint_id: data.same_as, reason: data.reason, turn: data.turn },
    }),
    afterCheckpoint(data.reason, same?.complete ? 'complete' : 'incomplete', data.same_as, now),
  );
}

/** A failed capture is a warning on the session, never a silent skip, and never a checkpoint [C3]. */
export function missCheckpoint(
  s: Session,
  { data, now }: CommandOf<'MissCheckpoint'>,
): SessionEvent[] {
  if (s.checkpointing?.id !== data.checkpoint_id) return [];
  return inOrder(
    s,
    always({ type: 'CheckpointMissed', data: { ...data, missed_at: now } }),
    raise(
      'limit',
      data.checkpoint_id,
      `a checkpoint (${data.reason}) could not be taken: ${data.error}`,
      [],
      now,
    ),
    afterCheckpoint(data.reason, 'missed', data.checkpoint_id, now),
  );
}

/** Keep the newest ones, and always the newest complete one and the newest of a turn's end [C5]. */
const prune: Step = (s) => {
  const kept = new Set(s.checkpoints.slice(-s.checkpoints_kept_max).map((c) => c.id));
  const keep = (c: SessionCheckpoint | undefined): void => {
    if (c) kept.add(c.id);
  };
  keep(newestComplete(s));
  keep(s.checkpoints.findLast((c) => c.reason === 'turn'));
  const dropped = s.checkpoints.filter((c) => !kept.has(c.id)).map((c) => c.id);
  return dropped.length
    ? [
        {
          type: 'CheckpointsDropped',
          data: { session_id: s.id, checkpoint_ids: dropped, reason: 'older than those kept' },
        },
      ]
    : [];
};

type Result = 'complete' | 'incomplete' | 'missed';

/** What waited for the checkpoint goes on, whatever came of it. */
const afterCheckpoint =
  (reason: string, result: Result, checkpointId: string, now: string): Step =>
  (s) => {
    const { phase } = s;
    switch (phase.state) {
      case 'ACTIVE': {
        if (phase.step !== 'ended') return [];
        if (reason !== 'turn') return checkpointDue('turn', now)(s);
        const turn = turnOf(s, phase.turn);
        return turn?.outcome === 'interrupted'
          ? interrupted(phase.turn, turn.error ?? 'it was cut', false, now)(s)
          : turnOrIdle(`turn ${phase.turn} ${turn?.outcome}`, now)(s);
      }
      case 'SUSPENDING':
        if (phase.step !== 'checkpoint') return [];
        if (reason !== 'suspend') return checkpointDue('suspend', now)(s);
        return result === 'complete' || phase.force
          ? release(phase.sandbox, 'suspend', phase.force, checkpointId)(s)
          : abortSuspend(result, now)(s);
      case 'IDLE':
        return s.queue.length ? turnOrIdle('', now)(s) : [];
      default:
        return [];
    }
  };

/** Without a complete checkpoint the sandbox is kept, and a person is told [X3]. */
const abortSuspend =
  (result: Result, now: string): Step =>
  (s) => {
    const skipped = s.checkpoints.at(-1)?.skipped ?? [];
    const what =
      result === 'incomplete'
        ? `the checkpoint leaves out ${skipped.length} paths (${skipped[0]?.path ?? 'see it'} ...)`
        : 'no checkpoint could be taken';
    const reason = `not suspended: ${what}; the sandbox is kept`;
    return inOrder(
      s,
      always({ type: 'SuspendAborted', data: { reason } }),
      raise('limit', `suspend-${s.checkpoint_number}`, reason, ['suspend --force'], now),
      turnOrIdle(reason, now),
    );
  };
