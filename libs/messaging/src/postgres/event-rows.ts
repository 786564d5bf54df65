import type { EventMeta, RecordedEvent } from '../event.ts';
import type { JsonObject } from '../json.ts';

/** Columns of an event in the order of `EventRow`; times and 64-bit numbers come as text. */
export const EVENT_COLUMNS = `e.stream_id, e.version::int, e.id::text, e.type, e.schema, e.data::text,
  e.meta::text, (extract(epoch from e.at) * 1000)::float8, e.fence::text, e.position::text`;

export type EventRow = [
  stream: string,
  version: number,
  id: string,
  type: string,
  schema: number,
  data: string,
  meta: string,
  atMs: number,
  fence: string,
  position: string,
];

export function eventOfRow(row: EventRow): RecordedEvent {
  const stream = row[0];
  return {
    stream,
    aggregate: stream.slice(0, stream.indexOf('/')),
    version: row[1],
    id: row[2],
    type: row[3],
    schema: row[4],
    data: JSON.parse(row[5]) as JsonObject,
    meta: JSON.parse(row[6]) as EventMeta,
    at: new Date(row[7]).toISOString(),
    position: { fence: row[8], position: row[9] },
  };
}
