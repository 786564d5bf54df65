import type { Continuity, SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import { heldSandbox, type Session, type SessionCheckpoint } from '../session.ts';
import {
  always,
  cutTurn,
  inOrder,
  interrupted,
  newest,
  raise,
  release,
  resume,
  safeUpTo,
  turnOrIdle,
  type Step,
} from './steps.ts';
import { missPending } from './turn.ts';

/** Only the sandbox that the session holds may speak; an older one is quiet [M5]. */
const holds = (s: Session, sandboxId: string): boolean => heldSandbox(s)?.id === sandboxId;

const starting = (s: Session): boolean =>
  s.phase.state === 'STARTING' || s.phase.state === 'RESUMING';

export function noteStartPhase(s: Session, { data }: CommandOf<'NoteStartPhase'>): SessionEvent[] {
  const { phase } = s;
  if (!holds(s, data.sandbox_id)) return [];
  if (phase.state !== 'STARTING' && phase.state !== 'RESUMING') return [];
  if (phase.sandbox.place || (phase.step === data.phase && phase.text === data.text)) return [];
  return [{ type: 'StartPhaseChanged', data: { phase: data.phase, text: data.text } }];
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
    phase.state === 'RESUMING' &&
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

/** One bad checkpoint cannot brick a session: the older ones are tried in turn [R1]. */
export function tryOlderCheckpoint(
  s: Session,
  { data, now }: CommandOf<'TryOlderCheckpoint'>,
): SessionEvent[] {
  const { phase } = s;
  if (!openRestore(s, data) || phase.state !== 'RESUMING') return [];
  const index = s.checkpoints.findIndex((c) => c.id === data.checkpoint_id);
  const older = s.checkpoints[index - 1];
  if (older) return restore(older, (phase.restoring?.attempt ?? 0) + 1)(s);
  const reason = `no checkpoint could be restored, the last because: ${data.error}; all are kept`;
  return fail('restoring', reason, now)(s);
}

const fail =
  (phase: string, reason: string, now: string): Step =>
  (s) =>
    inOrder(
      s,
      release(heldSandbox(s), 'failed', true),
      always({ type: 'SessionFailed', data: { phase, reason, failed_at: now } }),
    );

export function failStart(s: Session, { data, now }: CommandOf<'FailStart'>): SessionEvent[] {
  if (!holds(s, data.sandbox_id) || !starting(s)) return [];
  return fail(data.phase, data.reason, now)(s);
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

const released = (s: Session, cause: string): SessionEvent => {
  const hold = heldSandbox(s);
  return {
    type: 'SandboxReleased',
    data: { sandbox_id: hold?.id ?? '', epoch: hold?.epoch ?? 0, cause },
  };
};

const suspended =
  (reason: string, now: string): Step =>
  (s) => {
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
      (after) => (after.queue.length ? resume('a message waits', now)(after) : []),
    );
  };

/** The sandbox is gone because we asked for it, or in spite of us. */
export function finishRelease(s: Session, command: CommandOf<'FinishRelease'>): SessionEvent[] {
  const { data, now } = command;
  const { phase } = s;
  if (!holds(s, data.sandbox_id)) return [];
  if (phase.state === 'SUSPENDING' && phase.step === 'release')
    return inOrder(s, always(released(s, data.cause)), suspended(phase.reason, now));
  return loseSandbox(s, {
    type: 'LoseSandbox',
    data: { sandbox_id: data.sandbox_id, reason: `it was destroyed (${data.cause})` },
    now,
  });
}

export function loseSandbox(s: Session, { data, now }: CommandOf<'LoseSandbox'>): SessionEvent[] {
  const { phase } = s;
  const hold = heldSandbox(s);
  if (!hold || !holds(s, data.sandbox_id)) return [];
  const gone = always(released(s, data.reason));
  const reason = `the sandbox went away: ${data.reason}; ${safeUpTo(s)}`;
  switch (phase.state) {
    case 'STARTING':
    case 'RESUMING':
      return inOrder(
        s,
        release(hold, 'lost', true),
        always({
          type: 'SessionFailed',
          data: { phase: phase.step, reason: `${reason}; open tries again`, failed_at: now },
        }),
      );
    case 'ACTIVE':
      if (phase.step !== 'ended')
        return inOrder(
          s,
          cutTurn(phase.turn, data.reason, now),
          missPending(data.reason, now),
          gone,
          release(hold, 'lost', true),
          interrupted(phase.turn, data.reason, true, now),
        );
      return inOrder(s, ...lostWork(hold, gone, reason, now));
    case 'SUSPENDING':
      if (phase.step === 'release') return inOrder(s, gone, suspended(phase.reason, now));
      return inOrder(s, ...lostWork(hold, gone, reason, now));
    case 'IDLE':
      return inOrder(s, ...lostWork(hold, gone, reason, now));
    case 'SUSPENDED':
      return [];
    case 'INTERRUPTED':
    case 'FAILED':
    case 'ARCHIVED':
    case 'DELETED':
      return [released(s, data.reason)];
  }
}

function lostWork(
  hold: NonNullable<ReturnType<typeof heldSandbox>>,
  gone: Step,
  reason: string,
  now: string,
): Step[] {
  return [
    missPending(reason, now),
    gone,
    release(hold, 'lost', true),
    (s) => raise('lost_state', `sandbox-${s.epoch}`, reason, [], now)(s),
    suspended(reason, now),
  ];
}
