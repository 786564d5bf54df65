import type { Cursor, RecordedEvent } from '../event.ts';
import { EVENT_COLUMNS, eventOfRow, type EventRow } from './event-rows.ts';

/** A pool or a connection. */
export interface Queryable {
  query(config: {
    name?: string;
    text: string;
    values?: unknown[];
    rowMode: 'array';
  }): Promise<{ rows: unknown[][] }>;
}

/**
 * The one query of every reader of the whole log. It stops below the oldest open transaction, so
 * nothing can appear behind the cursor later; an index matches cursor and order.
 */
const FEED = `select ${EVENT_COLUMNS} from es.event e
  where (e.fence, e.position) > ($1::xid8, $2::bigint)
    and e.fence < pg_snapshot_xmin(pg_current_snapshot())
  order by e.fence, e.position limit $3`;

const HEAD = `select e.fence::text, e.position::text from es.event e
  where e.fence < pg_snapshot_xmin(pg_current_snapshot())
  order by e.fence desc, e.position desc limit 1`;

export async function readFeed(
  connection: Queryable,
  after: Cursor,
  limit: number,
): Promise<RecordedEvent[]> {
  const { rows } = await connection.query({
    name: 'es-feed',
    text: FEED,
    values: [after.fence, after.position, limit],
    rowMode: 'array',
  });
  return rows.map((row) => eventOfRow(row as EventRow));
}

export async function readHead(connection: Queryable): Promise<Cursor | undefined> {
  const { rows } = await connection.query({ name: 'es-head', text: HEAD, rowMode: 'array' });
  const [row] = rows as [string, string][];
  return row ? { fence: row[0], position: row[1] } : undefined;
}

const LOOK_MS_MAX = 10;

/**
 * Milliseconds to wait for a transaction that holds events back, after the wait before it (0: none).
 * Nearly all end at once, and nobody tells of their end.
 */
export const heldBackMs = (beforeMs: number): number =>
  beforeMs === 0 ? 1 : Math.min(LOOK_MS_MAX, beforeMs * 2);

const HELD_BACK = `select exists (select from es.event e
  where (e.fence, e.position) > ($1::xid8, $2::bigint))`;

/** Whether committed events wait behind `after` for an older transaction to end. */
export async function isHeldBack(connection: Queryable, after: Cursor): Promise<boolean> {
  const { rows } = await connection.query({
    name: 'es-held-back',
    text: HELD_BACK,
    values: [after.fence, after.position],
    rowMode: 'array',
  });
  return rows[0]?.[0] === true;
}
