import type { ActivityItem } from '@hangar/contracts';

/** Of one turn; what came before is still in the log of the session, and in the terminal's output. */
export const ITEMS_KEPT_MAX = 3_000;

const placeOf = (cursor: string): number[] => cursor.split('.').map(Number);

function isBefore(a: string, b: string): boolean {
  const [left, right] = [placeOf(a), placeOf(b)];
  for (const [index, part] of left.entries()) {
    const other = right[index] ?? 0;
    if (part !== other) return part < other;
  }
  return false;
}

/** Both, each item once, in the order of their places; the newest ITEMS_KEPT_MAX. */
export function mergeItems(known: ActivityItem[], more: ActivityItem[]): ActivityItem[] {
  if (more.length === 0) return known;
  const first = more[0]?.cursor ?? '';
  const last = known.at(-1)?.cursor;
  if (last === undefined || isBefore(last, first)) return kept([...known, ...more]);
  const byCursor = new Map([...known, ...more].map((item) => [item.cursor, item]));
  return kept([...byCursor.values()].toSorted((a, b) => (isBefore(a.cursor, b.cursor) ? -1 : 1)));
}

const kept = (items: ActivityItem[]): ActivityItem[] => items.slice(-ITEMS_KEPT_MAX);
