import { HangarError, type SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import { heldSandbox, partNumber, type Session } from '../session.ts';
import { mayDefer, mayIdle, restsSince, waitsOnPerson, wantsInterval } from '../session.timers.ts';
import { deferTurn } from './ask.ts';
import { ended, refuseWhileTalking, stillActive } from './lifecycle.ts';
import { suspended } from './sandbox.ts';
import { checkpointDue, isLimited, keepSandbox, release, suspend } from './steps.ts';
import { counted } from '../counted.ts';

export function suspendSession(
  s: Session,
  { data, now }: CommandOf<'SuspendSession'>,
): SessionEvent[] {
  const { phase } = s;
  switch (phase.state) {
    case 'SUSPENDED':
    case 'FAILED':
      return [];
    case 'SUSPENDING':
      if (!data.force || phase.force || phase.step === 'release') return [];
      return [{ type: 'SuspendRequested', data: { ...ON_DEMAND, force: true } }];
    case 'INTERRUPTED':
      return phase.sandbox ? suspend(s, { ...ON_DEMAND, force: data.force }, now) : [];
    case 'IDLE':
      refuseWhileTalking(s, 'suspend');
      return suspend(s, { ...ON_DEMAND, force: data.force }, now);
    case 'ACTIVE':
      // A turn that waits on a person ends on that; one at work is never killed.
      if (phase.step === 'deferring') return [];
      if (waitsOnPerson(s)) return deferTurn(s, 'suspended on demand', now);
      throw stillActive(phase, 'suspend');
    case 'STARTING':
    case 'RESUMING':
      throw new HangarError('conflict', `the session is ${phase.state}: ${phase.text}`, {
        hint: 'suspend it when it is up',
      });
    case 'ARCHIVED':
    case 'DELETED':
      throw ended(s);
  }
}

const ON_DEMAND = { reason: 'suspended on demand', automatic: false };

const minutesBetween = (from: string, to: string): number =>
  (Date.parse(to) - Date.parse(from)) / 60_000;

/** Judged and decided in one step, against what the sandbox's own activity says [X4]. */
export function suspendIfIdle(
  s: Session,
  { data, now }: CommandOf<'SuspendIfIdle'>,
): SessionEvent[] {
  if (data.busy || !(mayIdle(s) || mayDefer(s))) return [];
  const rested = restsSince(s);
  const since = data.last_active_at && data.last_active_at > rested ? data.last_active_at : rested;
  if (minutesBetween(since, now) < s.idle_minutes) return [];
  const minutes = counted(s.idle_minutes, 'minute');
  if (mayDefer(s)) return deferTurn(s, `waited ${minutes} for an answer`, now);
  return suspend(s, { reason: `idle for ${minutes}`, automatic: true, force: false }, now);
}

const AT_ITS_END = 'the sandbox is at the end of its lifetime';

/**
 * At the end of its lifetime, or when its place is wanted, a sandbox at work is kept; one at rest is
 * saved and released [X5] [X6].
 */
export function keepOrSuspend(
  s: Session,
  { data, now }: CommandOf<'KeepOrSuspend'>,
): SessionEvent[] {
  const hold = heldSandbox(s);
  if (!hold || hold.id !== data.sandbox_id) return releaseOrphan(s, data.sandbox_id, now);
  const keep = (reason: string): SessionEvent[] => keepSandbox(reason)(s);
  switch (s.phase.state) {
    case 'IDLE':
    case 'INTERRUPTED':
      if (s.idle_minutes === 0) return keep('the session is kept up');
      if (s.talk) return keep('somebody talks with the agent');
      if (data.busy) return keep('somebody is at work in it');
      if (isLimited(s)) return keep('its work cannot be saved whole');
      if (s.checkpointing) return keep('a checkpoint is being taken');
      return suspend(s, { reason: data.reason ?? AT_ITS_END, automatic: true, force: false }, now);
    case 'STARTING':
    case 'RESUMING':
    case 'ACTIVE':
    case 'SUSPENDING':
      return keep(`the session is ${s.phase.state}`);
    default:
      return release(hold, { cause: 'expired', now })(s);
  }
}

/** An older one that nobody holds any more; one that this log knows nothing of is left alone. */
function releaseOrphan(s: Session, sandboxId: string, now: string): SessionEvent[] {
  const epoch = partNumber(sandboxId);
  if (epoch > s.epoch) return [];
  return release({ id: sandboxId, epoch }, { cause: 'orphan', now })(s);
}

/**
 * The release deadline: the work is saved or given up, so nothing is lost by not waiting longer for
 * the sandboxes service to say that the old sandbox is gone. It holds no run, and the next sandbox
 * has an epoch of its own.
 */
export function suspendIfReleaseLate(
  s: Session,
  { data, now }: CommandOf<'SuspendIfReleaseLate'>,
): SessionEvent[] {
  const { phase } = s;
  if (phase.state !== 'SUSPENDING' || phase.release_requested_at === null) return [];
  if (minutesBetween(phase.release_requested_at, now) < data.release_deadline_minutes) return [];
  return suspended(`${phase.reason}; ${phase.sandbox.id} has not confirmed its end yet`, now)(s);
}

/** Between turns and during long ones, so that a lost sandbox costs at most this long [C2]. */
export function checkpointIfDue(
  s: Session,
  { data, now }: CommandOf<'CheckpointIfDue'>,
): SessionEvent[] {
  if (!wantsInterval(s)) return [];
  if (minutesBetween(s.last_checkpoint_at, now) < data.checkpoint_minutes) return [];
  return checkpointDue('interval', now)(s);
}
