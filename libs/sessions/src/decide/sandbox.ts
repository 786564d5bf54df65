import type { SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import { heldSandbox, turnOf, type SandboxHold, type Session } from '../session.ts';
import { cutTalk, interruptLost, letGoOfLost, missPending } from './cut.ts';
import { restoreOrStart } from './restore.ts';
import {
  always,
  clearUnsaved,
  fail,
  inOrder,
  interrupted,
  newest,
  raise,
  resume,
  safeUpTo,
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
  const text = data.text || data.phase;
  if (phase.sandbox.place || (phase.step === data.phase && phase.text === text)) return [];
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
      clearUnsaved('the sandbox is gone'),
      (after) =>
        after.queue.length && !after.limited ? resume('a message waits', now)(after) : [],
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
    cutTalk(reason, now),
    missPending(reason, now),
    letGoOfLost(hold, reason, now),
    raise('lost_state', `sandbox-${hold.epoch}`, reason, [], now),
    suspended(reason, now),
  ];
  return (s) => inOrder(s, ...steps);
};
