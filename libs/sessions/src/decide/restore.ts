import type { Continuity, Omission, SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import { heldSandbox, type Session, type SessionCheckpoint } from '../session.ts';
import { always, fail, inOrder, newest, raise, turnOrIdle, type Step } from './steps.ts';
import { counted } from '../counted.ts';

/** With a sandbox attached: what there is to restore, else the start of the work. */
export const restoreOrStart =
  (now: string): Step =>
  (s) => {
    const checkpoint = newest(s);
    if (checkpoint) return restore(checkpoint, 0)(s);
    if (s.turns.length === 0)
      return inOrder(
        s,
        always({ type: 'SessionStarted', data: { started_at: now } }),
        nextTurn('ready', now),
      );
    return resumed('', s.turns.length, nothingRestored(), now)(s);
  };

/** A step for states that `SessionStarted` and `SessionResumed` have already made IDLE. */
const nextTurn =
  (reason: string, now: string): Step =>
  (s) =>
    s.queue.length ? turnOrIdle(reason, now)(s) : [];

const restore =
  (checkpoint: SessionCheckpoint, attempt: number): Step =>
  (s) => {
    const hold = heldSandbox(s);
    if (!hold?.place) throw new Error('a restore needs an attached sandbox');
    return [
      {
        type: 'RestoreRequested',
        data: {
          session_id: s.id,
          checkpoint_id: checkpoint.id,
          epoch: hold.epoch,
          place: hold.place,
          harness: s.harness,
          attempt,
        },
      },
    ];
  };

function nothingRestored(): Continuity {
  const lost = { state: 'lost', detail: 'no checkpoint had been taken' };
  return {
    conversation: lost,
    commits: lost,
    staged: lost,
    unstaged: lost,
    untracked: lost,
    ignored: lost,
    processes: lost,
    losses: [{ reason: 'no checkpoint had been taken: this is a fresh checkout' }],
  };
}

/** What a resume restored and what it lost; a loss is a card and a line for the agent [R2]. */
const resumed =
  (checkpointId: string, turnsOlder: number, continuity: Continuity, now: string): Step =>
  (s) => {
    const lost = continuity.losses.length > 0 || turnsOlder > 0;
    const text =
      `resumed from ${checkpointId || 'nothing'}` +
      (turnsOlder > 0 ? `, ${counted(turnsOlder, 'turn')} older` : '') +
      (continuity.losses.length
        ? `; not restored: ${counted(continuity.losses.length, 'thing')}`
        : '');
    return inOrder(
      s,
      always({
        type: 'SessionResumed',
        data: { checkpoint_id: checkpointId, turns_older: turnsOlder, continuity, resumed_at: now },
      }),
      lost ? raise('lost_state', String(s.epoch), text, [], now) : () => [],
      nextTurn('resumed', now),
    );
  };

/** The restore that is going on, if the result speaks of it. */
function openRestore(s: Session, data: { checkpoint_id: string; epoch: number }): boolean {
  const { phase } = s;
  return (
    (phase.state === 'RESUMING' || phase.state === 'STARTING') &&
    phase.sandbox.epoch === data.epoch &&
    phase.restoring?.checkpoint_id === data.checkpoint_id
  );
}

export function finishRestore(
  s: Session,
  { data, now }: CommandOf<'FinishRestore'>,
): SessionEvent[] {
  if (!openRestore(s, data)) return [];
  const used = s.checkpoints.find((c) => c.id === data.checkpoint_id);
  const finished = s.turns.filter((t) => t.finished_at !== null).length;
  const turnsOlder = Math.max(0, finished - (used?.turn ?? 0));
  const losses = [...data.continuity.losses, ...notRestored(s, used)];
  return resumed(data.checkpoint_id, turnsOlder, { ...data.continuity, losses }, now)(s);
}

/** Newer checkpoints that were given up: also those of the same turn hold work of their own [R1]. */
function notRestored(s: Session, used: SessionCheckpoint | undefined): Omission[] {
  const last = newest(s);
  if (!last || !used || last.id === used.id) return [];
  const reason =
    `checkpoint ${last.id} of ${last.taken_at} could not be restored; ` +
    `what changed after ${used.id} of ${used.taken_at} is not here`;
  return [{ reason }];
}

const attemptOf = (s: Session): number =>
  s.phase.state === 'RESUMING' || s.phase.state === 'STARTING'
    ? (s.phase.restoring?.attempt ?? 0)
    : 0;

/** One bad checkpoint cannot brick a session: the older ones are tried in turn [R1]. */
export function tryOlderCheckpoint(
  s: Session,
  { data, now }: CommandOf<'TryOlderCheckpoint'>,
): SessionEvent[] {
  if (!openRestore(s, data)) return [];
  const index = s.checkpoints.findIndex((c) => c.id === data.checkpoint_id);
  const older = s.checkpoints[index - 1];
  if (older) return restore(older, attemptOf(s) + 1)(s);
  const reason = `no checkpoint could be restored, the last because: ${data.error}; all are kept`;
  return fail('restoring', reason, now)(s);
}
