import type { AuditFilter } from '@hangar/client';

export const AUDIT_FLAGS = {
  session: { kind: 'text', value: 'SESSION', help: 'only of this one (id or name)' },
  actor: { kind: 'text', value: 'ACTOR', help: 'only by this one, e.g. token:tok-1a2b3c4d' },
  type: { kind: 'text', value: 'EVENT', help: 'only this event, e.g. TurnFinished' },
  since: { kind: 'text', value: 'TIME', help: 'from this time on, e.g. 2026-10-12T08:00:00Z' },
  until: { kind: 'text', value: 'TIME', help: 'before this time' },
} as const;

export const filterOf = (
  flags: Record<keyof typeof AUDIT_FLAGS, string | undefined>,
): AuditFilter => ({
  session: flags.session,
  actor: flags.actor,
  type: flags.type,
  since: flags.since,
  until: flags.until,
});
