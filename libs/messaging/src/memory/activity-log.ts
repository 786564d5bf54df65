import type { ActivityEntry, ActivityLog, ActivityPlace } from '../activity-log.ts';
import { storable } from '../append-request.ts';

const compare = (a: ActivityPlace, b: ActivityPlace): number =>
  a.turn - b.turn || a.part - b.part || a.seq - b.seq;

/** For specs: as the one in Postgres. */
export function createMemoryActivityLog(): ActivityLog {
  const sessions = new Map<string, ActivityEntry[]>();
  const forgotten = new Set<string>();
  const of = (id: string): ActivityEntry[] => sessions.get(id) ?? [];
  return {
    append: async (id, entries) => {
      if (forgotten.has(id)) return;
      for (const entry of JSON.parse(storable(entries)) as ActivityEntry[])
        if (!of(id).some((each) => compare(each, entry) === 0))
          sessions.set(id, [...of(id), entry].toSorted(compare));
    },
    lastSeq: async (id, turn, part) =>
      of(id).findLast((entry) => entry.turn === turn && entry.part === part)?.seq ?? 0,
    read: async (id, after, limit) =>
      of(id)
        .filter((entry) => compare(entry, after) > 0)
        .slice(0, limit),
    head: async (id) => {
      const { turn, part, seq } = of(id).at(-1) ?? { turn: 0, part: 0, seq: 0 };
      return { turn, part, seq };
    },
    forget: async (id) => {
      forgotten.add(id);
      sessions.delete(id);
    },
  };
}
