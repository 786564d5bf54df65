import { HangarError } from '@hangar/contracts';
import type { RecordedEvent } from '../event.ts';
import { SNAPSHOT_TAIL_EVENTS, type Fold } from '../event-store.ts';
import type { Upcast } from '../upcast.ts';
import type { Queryable } from './feed.ts';
import { EVENT_COLUMNS, eventOfRow, type EventRow } from './event-rows.ts';

/** Snapshot and tail in one statement: the first row is the snapshot, if there is one. */
const LOAD = `with s as (select version, state from es.snapshot where stream_id = $1 and fold = $2)
  select null, s.version::int, null, null, null, s.state::text, null, null, null, null from s
  union all
  (select ${EVENT_COLUMNS} from es.event e
   where e.stream_id = $1 and e.version > coalesce((select version from s), 0)
   order by e.version)`;

const SAVE = `insert into es.snapshot (stream_id, fold, version, state) values ($1, $2, $3, $4)
  on conflict (stream_id, fold) do update set version = excluded.version, state = excluded.state,
    at = now()
  where es.snapshot.version < excluded.version`;

export interface LoadedState<State> {
  version: number;
  state: State;
  tail: number;
}

export async function loadFolded<State>(
  connection: Queryable,
  stream: string,
  fold: Fold<State>,
  upcast: Upcast,
): Promise<LoadedState<State>> {
  const answer = await connection.query({
    name: 'es-load-state',
    text: LOAD,
    values: [stream, fold.version],
    rowMode: 'array',
  });
  const rows = answer.rows as EventRow[];
  let { initial: state } = fold;
  let version = 0;
  let tail = 0;
  for (const row of rows) {
    if (row[0] === null) {
      version = row[1];
      state = JSON.parse(row[5]) as State;
      continue;
    }
    const event = upcast(eventOfRow(row));
    assertNext(stream, version, event);
    state = fold.evolve(state, event);
    version = event.version;
    tail += 1;
  }
  return { version, state, tail };
}

/** The log promises versions without a gap; one that breaks this must not be decided upon. */
export function assertNext(stream: string, version: number, event: RecordedEvent): void {
  if (event.version === version + 1) return;
  const found = `version ${event.version} follows ${version}`;
  throw new HangarError('internal', `the log of ${stream} is broken: ${found}`, {
    hint: 'Run "hangar audit verify" and restore the database from a backup.',
  });
}

/** Saves the state when so many events were folded that the next load would be slow. */
export async function saveSnapshot<State>(
  connection: { query(text: string, values: unknown[]): Promise<unknown> },
  stream: string,
  fold: Fold<State>,
  loaded: LoadedState<State>,
): Promise<void> {
  if (loaded.tail < SNAPSHOT_TAIL_EVENTS) return;
  await connection.query(SAVE, [
    stream,
    fold.version,
    loaded.version,
    JSON.stringify(loaded.state),
  ]);
}
