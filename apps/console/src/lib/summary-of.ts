import type { SessionDocument, SessionSummary } from '@hangar/contracts';

/** The row of a list that a session's document has in it. */
export function summaryOf(session: SessionDocument): SessionSummary {
  const { turns, checkpoints: _, continuity: _c, attention, queue, ...rest } = session;
  const { limits: _l, permissions: _p, ...fields } = rest;
  return {
    ...fields,
    turn_count: turns.length,
    last_summary: turns.findLast(({ finished_at }) => finished_at !== null)?.summary ?? '',
    attention_count: attention.length,
    queue_count: queue.length,
  };
}
