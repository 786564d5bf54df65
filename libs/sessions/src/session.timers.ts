import {
  CHECKPOINT_DEADLINE_MINUTES,
  RELEASE_DEADLINE_MINUTES,
  TURN_GRACE_MINUTES,
} from '@hangar/contracts';
import { isUnsaved, openAsks, turnOf, type Phase, type Session } from './session.ts';

export interface SessionSettings {
  startDeadlineMinutes: number;
  checkpointMinutes: number;
}

/** What the clock has to remind a session of; kinds are unique within a session. */
export interface WantedTimer {
  kind: 'start' | 'idle' | 'interval' | 'checkpoint' | 'turn' | 'release' | 'limit';
  dueAt: string;
}

const plusMinutes = (at: string, minutes: number): string =>
  new Date(Date.parse(at) + minutes * 60_000).toISOString();

/**
 * The timers a state wants, as a function of the state alone: arming and disarming is a
 * difference of two states, so no transition can forget one. Every state that waits on somebody
 * else has a deadline here; that is why no session can stay stuck [S2].
 */
export function wantedTimers(s: Session, settings: SessionSettings): WantedTimer[] {
  const { phase } = s;
  const timers: WantedTimer[] = [];
  if (s.checkpointing)
    timers.push({
      kind: 'checkpoint',
      dueAt: plusMinutes(s.checkpointing.due_at, CHECKPOINT_DEADLINE_MINUTES),
    });
  switch (phase.state) {
    case 'STARTING':
    case 'RESUMING':
      timers.push({
        kind: 'start',
        dueAt: plusMinutes(phase.since, settings.startDeadlineMinutes),
      });
      break;
    case 'ACTIVE':
      if (phase.step === 'ended') break;
      // A turn that waits on a person may do so for days; one that shall end on that has a deadline.
      if (!waitsOnPerson(s))
        timers.push({
          kind: 'turn',
          dueAt: plusMinutes(
            turnOf(s, phase.turn)?.counts_from ?? phase.since,
            s.turn_minutes + TURN_GRACE_MINUTES,
          ),
        });
      break;
    case 'SUSPENDING':
      if (phase.release_requested_at === null) break;
      timers.push({
        kind: 'release',
        dueAt: plusMinutes(phase.release_requested_at, RELEASE_DEADLINE_MINUTES),
      });
      break;
    default:
      break;
  }
  if (mayIdle(s) || mayDefer(s))
    timers.push({ kind: 'idle', dueAt: plusMinutes(restsSince(s), s.idle_minutes) });
  if (wantsInterval(s))
    timers.push({
      kind: 'interval',
      dueAt: plusMinutes(s.last_checkpoint_at, settings.checkpointMinutes),
    });
  if (s.limited && CAN_GO_ON.has(phase.state))
    timers.push({ kind: 'limit', dueAt: s.limited.until });
  return timers;
}

/** States in which a turn that waited for its provider can be started, or the session resumed for it. */
const CAN_GO_ON: ReadonlySet<string> = new Set(['IDLE', 'SUSPENDED', 'FAILED']);

type AtRest = Session & { phase: Extract<Phase, { state: 'IDLE' | 'INTERRUPTED' }> };

/**
 * Whether rest may end in a suspend. A suspend that was refused because the work cannot be saved
 * whole waits for the person or for a checkpoint that is complete, not for the clock.
 */
export function mayIdle(s: Session): s is AtRest {
  const { phase } = s;
  if (s.idle_minutes === 0 || s.checkpointing || s.talk) return false;
  if (phase.state !== 'IDLE' && phase.state !== 'INTERRUPTED') return false;
  return phase.sandbox !== null && !s.attention.some(isUnsaved);
}

/** Its agent works on nothing until somebody answers. */
export const waitsOnPerson = (s: Session): boolean =>
  s.phase.state === 'ACTIVE' && s.phase.step === 'running' && openAsks(s).length > 0;

/** The session suspends with the card open [A2]; a message that waits then goes on in the answer's place. */
export const mayDefer = (s: Session): boolean => s.idle_minutes !== 0 && waitsOnPerson(s);

/** Since when nobody has had anything to do here. */
export function restsSince(s: Session): string {
  const { phase } = s;
  const times = 'since' in phase ? [phase.since] : [];
  if (phase.state === 'ACTIVE')
    times.push(
      turnOf(s, phase.turn)?.counts_from ?? '',
      ...openAsks(s).map(({ since }) => since),
      ...s.queue.map(({ queued_at }) => queued_at),
    );
  return times.toSorted().at(-1) ?? '';
}

/** While work may change, and while the newest attempt to save it did not succeed. */
export function wantsInterval(s: Session): boolean {
  const { phase } = s;
  if (s.checkpointing) return false;
  if (phase.state === 'INTERRUPTED') return phase.sandbox !== null && s.attention.some(isUnsaved);
  return phase.state === 'IDLE' || (phase.state === 'ACTIVE' && phase.step === 'running');
}
