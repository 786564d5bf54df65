import { clip, type SessionEvent } from '@hangar/contracts';
import { heldSandbox, type Phase, type Session, type Turn } from '../session.ts';

export type Named<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

/** Lines kept for the agent's next prompt; more would crowd out the message itself. */
export const NOTES_MAX = 50;
/** Paths and error texts come from outside; an event that carries 50 of them has to fit. */
export const NOTE_CHARACTERS_MAX = 500;

/** Each line once, the newest ones when there are too many. */
export function withNotes(notes: string[], lines: string[]): string[] {
  const fresh = lines.map((line) => clip(line.replace(/\s+/g, ' '), NOTE_CHARACTERS_MAX));
  return [...new Set([...notes, ...fresh])].slice(-NOTES_MAX);
}

export function idle(s: Session, since: string): Phase {
  const sandbox = heldSandbox(s);
  if (!sandbox) throw new Error('idle without a sandbox: the log is broken');
  return { state: 'IDLE', sandbox, since };
}

export function withTurn(s: Session, number: number, change: (t: Turn) => Turn): Session {
  return { ...s, turns: s.turns.map((t) => (t.number === number ? change(t) : t)) };
}
