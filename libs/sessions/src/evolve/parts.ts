import type { SessionEvent } from '@hangar/contracts';
import { heldSandbox, type Phase, type Session, type Turn } from '../session.ts';

export type Named<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

/** Lines kept for the agent's next prompt; more would crowd out the message itself. */
export const NOTES_MAX = 50;

export function idle(s: Session, since: string): Phase {
  const sandbox = heldSandbox(s);
  if (!sandbox) throw new Error('idle without a sandbox: the log is broken');
  return { state: 'IDLE', sandbox, since };
}

export function withTurn(s: Session, number: number, change: (t: Turn) => Turn): Session {
  return { ...s, turns: s.turns.map((t) => (t.number === number ? change(t) : t)) };
}
