import { HangarError } from '@hangar/contracts';
import { SNAPSHOT_TAIL_EVENTS, type Fold } from '../event-store.ts';
import type { JsonObject } from '../json.ts';
import type { Upcast } from '../upcast.ts';
import type { Queryable } from './feed.ts';

/**
 * Snapshot and tail in one statement: the first row is the snapshot, if there is one. Only the
 * columns that a fold sees, since each one costs about a tenth of a long rebuild.
 */
const LOAD = `with s as (select version, state from es.snapshot where stream_id = $1 and fold = $2)
  select s.version::int, null, null, s.state::text from s
  union all
  (select e.version::int, e.type, e.schema, e.data::text from es.event e
   where e.stream_id = $1 and e.version > coalesce((select version from s), 0)
   order by e.version)`;

/** Without a type it is the snapshot. */
type LoadRow = [version: number, type: string | null, schema: number | null, text: string];

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
  const aggregate = stream.slice(0, stream.indexOf('/'));
  let { initial: state } = fold;
  let version = 0;
  let tail = 0;
  // Nearly free when they are in order, which SQL does not promise of a union.
  const rows = (answer.rows as LoadRow[]).sort((a, b) => a[0] - b[0]);
  for (const row of rows) {
    const [next, type, schema, text] = row;
    if (type === null) {
      state = JSON.parse(text) as State;
    } else {
      assertNext(stream, version, next);
      const data = JSON.parse(text) as JsonObject;
      const event = { stream, aggregate, version: next, type, schema: schema ?? 1, data };
      state = fold.evolve(state, upcast(event));
      tail += 1;
    }
    version = next;
  }
  return { version, state, tail };
}

/** The log promises versions without a gap; one that breaks this must not be decided upon. */
export function assertNext(stream: string, version: number, next: number): void {
  if (next === version + 1) return;
  const found = `version ${next} follows ${version}`;
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
