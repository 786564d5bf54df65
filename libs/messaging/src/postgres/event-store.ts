import type pg from 'pg';
import { prepareAppend, type Validate } from '../append-request.ts';
import { START, type Aggregate, type RecordedEvent } from '../event.ts';
import {
  PAGE_EVENTS_MAX,
  PROBLEMS_MAX,
  type AppendOptions,
  type AppendResult,
  type ChainProblem,
  type EventStore,
} from '../event-store.ts';
import type { Json } from '../json.ts';
import type { Transaction } from '../transaction.ts';
import { asItIs, type Upcast } from '../upcast.ts';
import type { Wake, WakeTopic } from '../wake.ts';
import { appendRows, runOnPool, type Run } from './append.ts';
import { EVENT_COLUMNS, eventOfRow, type EventRow } from './event-rows.ts';
import { readFeed, readHead, type Queryable } from './feed.ts';
import { assertNext, loadFolded, saveSnapshot } from './load-state.ts';

export interface PostgresEventStoreOptions {
  pool: pg.Pool;
  /** The aggregates whose streams this service may append to. */
  owns: readonly Aggregate[];
  /** Throws `invalid` when the data of an event breaks its contract. */
  validate: Validate;
  upcast?: Upcast;
  /** Told after each commit that appended something. */
  wake?: Wake;
}

const READ = `select ${EVENT_COLUMNS} from es.event e
  where e.stream_id = $1 and e.version >= $2 order by e.version limit $3`;
const COMMAND = 'select body_hash, result from es.command where id = $1';
const VERIFY = 'select stream_id, version::int, problem from es.verify($1, $2)';

/** Statements of an open transaction in the shape that the readers take. */
const queryableOf = (tx: Transaction): Queryable => ({
  query: (config) => tx.query<unknown[]>(config),
});

const runIn =
  (tx: Transaction): Run =>
  async <Row>(name: string, text: string, values: unknown[]) =>
    (await tx.query<Row>({ name, text, values })).rows;

/** The log in Postgres. It never caches a stream: the database decides who was first. */
export function createPostgresEventStore(options: PostgresEventStoreOptions): EventStore {
  const { pool } = options;
  const upcast = options.upcast ?? asItIs;
  const connection = (tx?: Transaction): Queryable => (tx ? queryableOf(tx) : pool);

  const readStream: EventStore['readStream'] = async (stream, fromVersion, limit, tx) => {
    const { rows } = await connection(tx).query({
      name: 'es-read-stream',
      text: READ,
      values: [stream, fromVersion, Math.min(limit, PAGE_EVENTS_MAX)],
      rowMode: 'array',
    });
    return rows.map((row) => upcast(eventOfRow(row as EventRow)));
  };

  return {
    readStream,
    load: (stream) => loadAll(stream, readStream),
    loadState: async (stream, fold, tx) => {
      const loaded = await loadFolded(connection(tx), stream, fold, upcast);
      if (!tx) await saveSnapshot(pool, stream, fold, loaded);
      return { version: loaded.version, state: loaded.state };
    },
    append: async (stream, expected, events, append) => {
      const prepared = prepareAppend(stream, events, append, options);
      const run = append.tx ? runIn(append.tx) : runOnPool(pool);
      const { aggregate } = prepared;
      const result = await appendRows(run, stream, aggregate, expected, prepared.events, append);
      if (result.kind === 'appended' && options.wake) notify(options.wake, append, result);
      return result;
    },
    findCommand: async (id, bodyHash, tx) => {
      const run = tx ? runIn(tx) : runOnPool(pool);
      const [row] = await run<{ body_hash: string; result: Json }>('es-command', COMMAND, [id]);
      if (!row) return undefined;
      if (row.body_hash !== bodyHash) return { kind: 'key-reused' };
      return { kind: 'answered', result: row.result };
    },
    feed: async (after, limit) => {
      const events = await readFeed(pool, after, Math.min(limit, PAGE_EVENTS_MAX));
      return events.map((event) => upcast(event));
    },
    head: async () => (await readHead(pool)) ?? START,
    verify: async (stream) => {
      const values = [stream ?? null, PROBLEMS_MAX];
      const { rows } = await pool.query<Found>(VERIFY, values);
      return rows.map((row) => ({
        stream: row.stream_id,
        version: row.version,
        problem: row.problem,
      }));
    },
  };
}

interface Found {
  stream_id: string;
  version: number;
  problem: ChainProblem['problem'];
}

async function loadAll(
  stream: string,
  readStream: EventStore['readStream'],
): Promise<{ version: number; events: RecordedEvent[] }> {
  const events: RecordedEvent[] = [];
  for (;;) {
    const page = await readStream(stream, events.length + 1, PAGE_EVENTS_MAX);
    for (const event of page) {
      assertNext(stream, events.length, event.version);
      events.push(event);
    }
    if (page.length < PAGE_EVENTS_MAX) return { version: events.length, events };
  }
}

/** After the commit: at once for an append of its own, else when its transaction commits. */
function notify(wake: Wake, append: AppendOptions, result: AppendResult): void {
  const topics: WakeTopic[] = [];
  if (result.kind === 'appended' && result.ids.length > 0) topics.push('log');
  if (append.timers?.length) topics.push('timer');
  if (append.effects?.length) topics.push('effect');
  const tell = (): void => {
    for (const topic of topics) wake.notify(topic);
  };
  if (append.tx) append.tx.onCommit(tell);
  else tell();
}
