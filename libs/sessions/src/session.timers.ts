import { CHECKPOINT_DEADLINE_MINUTES, TURN_GRACE_MINUTES } from '@hangar/contracts';
import { turnOf, type Session } from './session.ts';

export interface SessionSettings {
  startDeadlineMinutes: number;
  checkpointMinutes: number;
}

/** What the clock has to remind a session of; kinds are unique within a session. */
export interface WantedTimer {
  kind: 'start' | 'idle' | 'interval' | 'checkpoint' | 'turn';
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
    case 'IDLE':
      timers.push(...idleTimer(s, phase.since));
      if (!s.checkpointing) timers.push(interval(s, settings));
      break;
    case 'INTERRUPTED':
      if (phase.sandbox) timers.push(...idleTimer(s, phase.since));
      break;
    case 'ACTIVE':
      if (phase.step === 'ended') break;
      timers.push({
        kind: 'turn',
        dueAt: plusMinutes(
          turnOf(s, phase.turn)?.requested_at ?? phase.since,
          s.turn_minutes + TURN_GRACE_MINUTES,
        ),
      });
      if (phase.step === 'running' && !s.checkpointing) timers.push(interval(s, settings));
      break;
    default:
      break;
  }
  return timers;
}

function idleTimer(s: Session, since: string): WantedTimer[] {
  return s.idle_minutes === 0 ? [] : [{ kind: 'idle', dueAt: plusMinutes(since, s.idle_minutes) }];
}

const interval = (s: Session, settings: SessionSettings): WantedTimer => ({
  kind: 'interval',
  dueAt: plusMinutes(s.last_checkpoint_at, settings.checkpointMinutes),
});
