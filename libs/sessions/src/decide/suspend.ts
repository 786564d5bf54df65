import { HangarError, type SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import { heldSandbox, type Session } from '../session.ts';
import { ended } from './lifecycle.ts';
import { always, checkpointDue, inOrder, newest, release } from './steps.ts';

function suspend(
  s: Session,
  options: { reason: string; automatic: boolean; force: boolean },
  now: string,
): SessionEvent[] {
  return inOrder(
    s,
    always({ type: 'SuspendRequested', data: options }),
    checkpointDue('suspend', now),
  );
}

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
      return [];
    case 'IDLE':
      return suspend(
        s,
        { reason: 'suspended on demand', automatic: false, force: data.force },
        now,
      );
    case 'INTERRUPTED':
      return releaseInterrupted(s, 'suspended on demand', data.force);
    case 'ACTIVE':
      throw new HangarError('conflict', `turn ${phase.turn} is at work; it goes on undisturbed`, {
        hint: 'interrupt it first, or suspend when it has ended',
      });
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

/** The decision may take days: the sandbox need not wait for it once its work is saved. */
function releaseInterrupted(s: Session, cause: string, force: boolean): SessionEvent[] {
  const hold = heldSandbox(s);
  const checkpoint = newest(s);
  if (!hold) return [];
  if (!force && !(checkpoint?.complete && s.phase.state === 'INTERRUPTED'))
    throw new HangarError(
      'conflict',
      'the newest checkpoint is not complete: the sandbox is kept',
      {
        hint: 'decide with retry or continue, or suspend with --force and lose what is not saved',
      },
    );
  return release(hold, cause, force, checkpoint?.id)(s);
}

const minutesBetween = (from: string, to: string): number =>
  (Date.parse(to) - Date.parse(from)) / 60_000;

/** Judged and decided in one step, against what the sandbox's own activity says [X4]. */
export function suspendIfIdle(
  s: Session,
  { data, now }: CommandOf<'SuspendIfIdle'>,
): SessionEvent[] {
  const { phase } = s;
  if (s.idle_minutes === 0 || data.busy || s.checkpointing) return [];
  if (phase.state !== 'IDLE' && phase.state !== 'INTERRUPTED') return [];
  const since =
    data.last_active_at && data.last_active_at > phase.since ? data.last_active_at : phase.since;
  if (minutesBetween(since, now) < s.idle_minutes) return [];
  const reason = `idle for ${s.idle_minutes} minutes`;
  if (phase.state === 'INTERRUPTED')
    return newest(s)?.complete ? releaseInterrupted(s, reason, false) : [];
  // A suspend that was refused for an incomplete checkpoint waits for the person, not for the clock.
  if (s.attention.some((c) => c.kind === 'limit')) return [];
  return suspend(s, { reason, automatic: true, force: false }, now);
}

/** At the end of its lifetime a sandbox at work is kept; one at rest is saved and released [X5]. */
export function keepOrSuspend(
  s: Session,
  { data, now }: CommandOf<'KeepOrSuspend'>,
): SessionEvent[] {
  const hold = heldSandbox(s);
  if (!hold || hold.id !== data.sandbox_id) return [];
  const keep = (reason: string): SessionEvent[] => [
    { type: 'SandboxKeepRequested', data: { session_id: s.id, sandbox_id: hold.id, reason } },
  ];
  switch (s.phase.state) {
    case 'IDLE':
      if (s.idle_minutes === 0) return keep('the session is kept up');
      if (s.attention.some((c) => c.kind === 'limit'))
        return keep('its work cannot be saved whole');
      return s.checkpointing
        ? keep('a checkpoint is being taken')
        : suspend(
            s,
            { reason: 'the sandbox is at the end of its lifetime', automatic: true, force: false },
            now,
          );
    case 'INTERRUPTED':
      return newest(s)?.complete
        ? releaseInterrupted(s, 'the sandbox is at the end of its lifetime', false)
        : keep('an interrupted turn waits for a decision');
    case 'STARTING':
    case 'RESUMING':
    case 'ACTIVE':
    case 'SUSPENDING':
      return keep(`the session is ${s.phase.state}`);
    default:
      return release(hold, 'expired', true)(s);
  }
}

/** Between turns and during long ones, so that a lost sandbox costs at most this long [C2]. */
export function checkpointIfDue(
  s: Session,
  { data, now }: CommandOf<'CheckpointIfDue'>,
): SessionEvent[] {
  const { phase } = s;
  const working = phase.state === 'IDLE' || (phase.state === 'ACTIVE' && phase.step === 'running');
  if (!working || s.checkpointing) return [];
  if (minutesBetween(s.last_checkpoint_at, now) < data.checkpoint_minutes) return [];
  return checkpointDue('interval', now)(s);
}
