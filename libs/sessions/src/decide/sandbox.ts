import type { Continuity, SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import {
  heldSandbox,
  turnOf,
  type SandboxHold,
  type Session,
  type SessionCheckpoint,
} from '../session.ts';
import { interruptLost, letGoOfLost, missPending } from './cut.ts';
import {
  always,
  clearCards,
  inOrder,
  interrupted,
  newest,
  raise,
  release,
  resume,
  safeUpTo,
  turnOrIdle,
  whyCut,
  type Step,
} from './steps.ts';

/** Only the sandbox that the session holds may speak; an older one is quiet [M5]. */
const holds = (s: Session, sandboxId: string): boolean => heldSandbox(s)?.id === sandboxId;

const starting = (s: Session): boolean =>
  s.phase.state === 'STARTING' || s.phase.state === 'RESUMING';

export function noteStartPhase(s: Session, { data }: CommandOf<'NoteStartPhase'>): SessionEvent[] {
  const { phase } = s;
  if (!holds(s, data.sandbox_id)) return [];
  if (phase.state !== 'STARTING' && phase.state !== 'RESUMING') return [];
  if (
    phase.sandbox.place ||
    (phase.step === data.phase && phase.text === (data.text || data.phase))
  )
    return [];
  const text = data.text || data.phase;
  return [{ type: 'StartPhaseChanged', data: { phase: data.phase, text } }];
}

export function attachSandbox(
  s: Session,
  { data, now }: CommandOf<'AttachSandbox'>,
): SessionEvent[] {
  const hold = heldSandbox(s);
  if (!hold || !holds(s, data.sandbox_id) || !starting(s) || hold.place) return [];
  return inOrder(
    s,
    always({ type: 'SandboxAttached', data: { place: data.place, epoch: hold.epoch } }),
    restoreOrStart(now),
  );
}

const restoreOrStart =
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
      (turnsOlder > 0 ? `, ${turnsOlder} turns older` : '') +
      (continuity.losses.length ? `; ${continuity.losses.length} things were not restored` : '');
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
  return resumed(data.checkpoint_id, turnsOlder, data.continuity, now)(s);
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

const fail =
  (phase: string, reason: string, now: string): Step =>
  (s) =>
    inOrder(
      s,
      release(heldSandbox(s), { cause: 'failed', now }),
      always({ type: 'SessionFailed', data: { phase, reason, failed_at: now } }),
    );

export function failStart(s: Session, { data, now }: CommandOf<'FailStart'>): SessionEvent[] {
  if (!holds(s, data.sandbox_id) || !starting(s)) return [];
  return fail(data.phase, data.reason || `failed while ${data.phase}`, now)(s);
}

/** The start deadline [S4]: past it the last phase is the reason, and `open` tries again. */
export function failIfLate(s: Session, { data, now }: CommandOf<'FailIfLate'>): SessionEvent[] {
  const { phase } = s;
  if (phase.state !== 'STARTING' && phase.state !== 'RESUMING') return [];
  const minutes = (Date.parse(now) - Date.parse(phase.since)) / 60_000;
  if (minutes < data.start_deadline_minutes) return [];
  return fail(
    phase.step,
    `not up after ${data.start_deadline_minutes} minutes; the last phase was: ${phase.text}`,
    now,
  )(s);
}

/** Rest without a sandbox; an interrupted turn still waits for its decision [S3]. */
export const suspended =
  (reason: string, now: string): Step =>
  (s) => {
    const { phase } = s;
    if (phase.state === 'SUSPENDING' && phase.interrupted_turn !== null) {
      const turn = phase.interrupted_turn;
      return interrupted(turn, whyCut(s, turn), true, now)(s);
    }
    const checkpoint = newest(s);
    return inOrder(
      s,
      always({
        type: 'SessionSuspended',
        data: {
          reason,
          ...(checkpoint ? { checkpoint_id: checkpoint.id } : {}),
          suspended_at: now,
        },
      }),
      clearCards('limit', 'the sandbox is gone'),
      (after) => (after.queue.length ? resume('a message waits', now)(after) : []),
    );
  };

/** The sandbox is gone because we asked for it, or in spite of us. */
export function finishRelease(s: Session, command: CommandOf<'FinishRelease'>): SessionEvent[] {
  const { data, now } = command;
  const { phase } = s;
  if (!holds(s, data.sandbox_id)) return [];
  if (phase.state === 'SUSPENDING' && phase.step === 'release')
    return inOrder(s, gone(data.cause), suspended(phase.reason, now));
  const reason = `it was destroyed (${data.cause})`;
  return loseSandbox(s, {
    type: 'LoseSandbox',
    data: { sandbox_id: data.sandbox_id, reason },
    now,
  });
}

const gone =
  (cause: string): Step =>
  (s) => {
    const hold = heldSandbox(s);
    if (!hold) return [];
    return [{ type: 'SandboxReleased', data: { sandbox_id: hold.id, epoch: hold.epoch, cause } }];
  };

export function loseSandbox(s: Session, { data, now }: CommandOf<'LoseSandbox'>): SessionEvent[] {
  const { phase } = s;
  const hold = heldSandbox(s);
  if (!hold || !holds(s, data.sandbox_id)) return [];
  const reason = `the sandbox went away: ${data.reason || 'nobody said why'}; ${safeUpTo(s)}`;
  switch (phase.state) {
    case 'STARTING':
    case 'RESUMING':
      return fail(phase.step, `${reason}; open tries again`, now)(s);
    case 'ACTIVE': {
      const isCut = phase.step !== 'ended' || turnOf(s, phase.turn)?.outcome === 'interrupted';
      return isCut
        ? interruptLost(phase.turn, data.reason || reason, now)(s)
        : loseWork(hold, reason, now)(s);
    }
    case 'SUSPENDING':
      // What was to be saved is saved, or a person gave it up.
      if (phase.step === 'release')
        return inOrder(s, gone(data.reason), suspended(phase.reason, now));
      return loseWork(hold, reason, now)(s);
    case 'IDLE':
      return loseWork(hold, reason, now)(s);
    case 'INTERRUPTED':
      return inOrder(
        s,
        raise('lost_state', `sandbox-${hold.epoch}`, reason, [], now),
        interruptLost(phase.turn, data.reason || reason, now),
      );
    case 'SUSPENDED':
      return [];
    case 'FAILED':
    case 'ARCHIVED':
    case 'DELETED':
      return gone(data.reason)(s);
  }
}

const loseWork = (hold: SandboxHold, reason: string, now: string): Step => {
  const steps: Step[] = [
    missPending(reason, now),
    letGoOfLost(hold, reason, now),
    raise('lost_state', `sandbox-${hold.epoch}`, reason, [], now),
    suspended(reason, now),
  ];
  return (s) => inOrder(s, ...steps);
};
