import type { EventDocument } from '@hangar/contracts';

/** `TurnFinished` as people read it: `Turn finished`. */
export const eventText = (type: string): string =>
  type.charAt(0) + type.slice(1).replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** `token:tok-1a2b3c4d` and `service:runs`, as whom they stand for. */
export function actorText(actor: string): string {
  const [kind, name = ''] = actor.split(':');
  if (kind === 'service') return `hangar (${name})`;
  return kind === 'token' ? `a person or program (${name})` : actor;
}

/**
 * The version that the session's own stream had when an event happened: its own version, or for an
 * event of a run, a sandbox or a checkpoint that of the newest one before it. `events`: newest first.
 * null: none of those is known.
 */
export function sessionVersionAt(events: EventDocument[], event: EventDocument): number | null {
  const at = events.findIndex(({ id }) => id === event.id);
  const own = events.slice(at).find(({ stream }) => stream.startsWith('session/'));
  return own?.version ?? null;
}
