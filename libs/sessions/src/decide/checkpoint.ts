import { HangarError, type SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import { isAsk, partNumber, turnOf, type Session, type SessionCheckpoint } from '../session.ts';
import { ended } from './lifecycle.ts';
import {
  always,
  checkpointDue,
  clearCards,
  clearUnsaved,
  inOrder,
  interrupted,
  isLimited,
  keepSandbox,
  newestComplete,
  raise,
  release,
  suspend,
  turnOrIdle,
  whyCut,
  type Step,
} from './steps.ts';

export function takeCheckpoint(s: Session, { now }: CommandOf<'TakeCheckpoint'>): SessionEvent[] {
  const { phase } = s;
  if (phase.state === 'ARCHIVED' || phase.state === 'DELETED') throw ended(s);
  if (s.checkpointing) return [];
  const isUp = phase.state === 'IDLE' || phase.state === 'ACTIVE' || phase.state === 'INTERRUPTED';
  if (!isUp || !phase.sandbox)
    throw new HangarError('conflict', `the session is ${phase.state}: it has no sandbox to save`, {
      hint: 'its newest checkpoint holds its work; open it to change something',
    });
  return checkpointDue('manual', now)(s);
}

/** The same one told twice is quiet; one that is not waited for any more is late. */
export function recordCheckpoint(
  s: Session,
  { data, now }: CommandOf<'RecordCheckpoint'>,
): SessionEvent[] {
  if (s.checkpoints.some((c) => c.id === data.checkpoint_id)) return [];
  if (s.checkpointing?.id !== data.checkpoint_id) return recordLate(s, data);
  return inOrder(
    s,
    recorded(data),
    prune,
    afterCheckpoint(
      data.reason,
      data.complete ? 'complete' : 'incomplete',
      data.checkpoint_id,
      now,
    ),
  );
}

const recorded = ({ epoch: _epoch, ...data }: CommandOf<'RecordCheckpoint'>['data']): Step => {
  const bytes = data.parts.reduce((sum, p) => sum + p.size, 0);
  return (s) =>
    inOrder(
      s,
      always({ type: 'CheckpointRecorded', data: { ...data, bytes } }),
      data.complete ? clearUnsaved('a complete checkpoint was taken') : () => [],
    );
};

/**
 * A deadline passed, or the sandbox went away, before word of it came. It is work that was saved:
 * as long as no later checkpoint and no later sandbox came after it, it is kept. Otherwise the
 * session went on without it, a late writer changes nothing [M5], and its blobs go.
 */
function recordLate(s: Session, data: CommandOf<'RecordCheckpoint'>['data']): SessionEvent[] {
  const number = partNumber(data.checkpoint_id);
  const isLive = s.phase.state !== 'ARCHIVED' && s.phase.state !== 'DELETED';
  const isNewest = number > s.checkpoint_settled && number <= s.checkpoint_number;
  if (!isLive || !isNewest || data.epoch !== s.attached_epoch)
    return [
      {
        type: 'CheckpointsDropped',
        data: { session_id: s.id, checkpoint_ids: [data.checkpoint_id], reason: 'late' },
      },
    ];
  return inOrder(
    s,
    recorded(data),
    data.complete
      ? clearCards('lost_state', 'its newest checkpoint came after all', `sandbox-${data.epoch}`)
      : () => [],
    prune,
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
    same?.complete ? clearUnsaved('a complete checkpoint is still good') : () => [],
    afterCheckpoint(data.reason, same?.complete ? 'complete' : 'incomplete', data.same_as, now),
  );
}

/** A failed capture is a warning on the session, never a silent skip, and never a checkpoint [C3]. */
export function missCheckpoint(
  s: Session,
  { data, now }: CommandOf<'MissCheckpoint'>,
): SessionEvent[] {
  if (s.checkpointing?.id !== data.checkpoint_id) return [];
  const { id, reason } = s.checkpointing;
  const error = data.error || 'no reason was given';
  const text = `a checkpoint (${reason}) could not be taken: ${error}`;
  return inOrder(
    s,
    always({
      type: 'CheckpointMissed',
      data: { checkpoint_id: id, reason, error, missed_at: now },
    }),
    // One card for as long as it goes on: a store that is away all day is one thing to see to.
    (after) => (isLimited(after) ? [] : raise('limit', id, text, [], now)(after)),
    afterCheckpoint(reason, 'missed', id, now),
  );
}

/** Keep the newest ones, and always the newest complete one and the newest of a turn's end [C5]. */
const prune: Step = (s) => {
  const kept = new Set(s.checkpoints.slice(-s.checkpoints_kept_max).map((c) => c.id));
  const keep = (c: SessionCheckpoint | undefined): void => {
    if (c) kept.add(c.id);
  };
  keep(newestComplete(s));
  // Also one that was taken for another reason and found still good at the turn's end.
  const atTurnEnds = new Set(s.turns.map((t) => t.checkpoint_id));
  keep(s.checkpoints.findLast((c) => c.reason === 'turn' || atTurnEnds.has(c.id)));
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

const WAITS = 'it waits for an answer';

/** What waited for the checkpoint goes on, whatever came of it. */
const afterCheckpoint =
  (reason: string, result: Result, checkpointId: string, now: string): Step =>
  (s) => {
    const { phase } = s;
    switch (phase.state) {
      case 'ACTIVE': {
        if (phase.step !== 'ended') return [];
        if (reason !== 'turn') return checkpointDue('turn', now)(s);
        const outcome = turnOf(s, phase.turn)?.outcome;
        if (outcome === 'deferred' && s.queue.length === 0 && s.attention.some(isAsk))
          return suspend(s, { reason: WAITS, automatic: true, force: false }, now);
        return outcome === 'interrupted'
          ? interrupted(phase.turn, whyCut(s, phase.turn), false, now)(s)
          : turnOrIdle(`turn ${phase.turn} ${outcome}`, now)(s);
      }
      case 'SUSPENDING':
        if (phase.step !== 'checkpoint') return [];
        if (reason !== 'suspend') return checkpointDue('suspend', now)(s);
        if (result === 'complete')
          return release(phase.sandbox, { cause: 'suspend', now, checkpointId })(s);
        return phase.force
          ? release(phase.sandbox, { cause: 'suspend', now })(s)
          : abortSuspend(result, phase.interrupted_turn, now)(s);
      case 'IDLE':
        if (s.talk_unsaved) return checkpointDue('talk', now)(s);
        return s.queue.length && !s.limited ? turnOrIdle('a message waits', now)(s) : [];
      default:
        return [];
    }
  };

/** Without a complete checkpoint the sandbox is kept, and a person is told [X3]. */
const abortSuspend =
  (result: Result, interruptedTurn: number | null, now: string): Step =>
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
      keepSandbox(reason),
      clearUnsaved('the refused suspend says more'),
      raise('limit', `suspend-${s.checkpoint_number}`, reason, ['suspend --force'], now),
      (after) =>
        interruptedTurn === null
          ? turnOrIdle(reason, now)(after)
          : interrupted(interruptedTurn, whyCut(after, interruptedTurn), false, now)(after),
    );
  };
