import type { RecordedEvent } from '@hangar/messaging';

export type ViewTable =
  | 'session_view'
  | 'turn_view'
  | 'checkpoint_view'
  | 'message_view'
  | 'card_view'
  | 'environment_view';

/** A value of a column: what JSON can carry; objects go into jsonb columns. */
export type ViewValue = string | number | boolean | null | object;
export type ViewRow = Record<string, ViewValue>;

/** Equal to the value, or to one of several. */
export type ViewFilter = Record<string, string | number | string[]>;

/**
 * What an event changes in the read models, as data: the same changes are written to Postgres,
 * and applied in memory for replay. `add` leaves a row alone that is there already.
 */
export type ViewChange =
  | { op: 'add'; table: ViewTable; row: ViewRow }
  | { op: 'set'; table: ViewTable; where: ViewFilter; row: ViewRow }
  | { op: 'drop'; table: ViewTable; where: ViewFilter };

/** A projection: an event in, changes out; pure, so that a rebuild gives what is there now [L1]. */
export type Project = (event: RecordedEvent) => ViewChange[];

export const VIEW_KEYS: Record<ViewTable, string[]> = {
  session_view: ['id'],
  turn_view: ['session_id', 'number'],
  checkpoint_view: ['session_id', 'id'],
  message_view: ['session_id', 'message_id'],
  card_view: ['session_id', 'id'],
  environment_view: ['owner', 'name'],
};
