import type { JetStreamManager, StreamConfig, StreamInfo } from '@nats-io/jetstream';
import type pg from 'pg';
import { START, type Cursor } from './event.ts';
import { decodePosition, HEADER } from './jetstream/envelope.ts';
import { findStream, recreateStream, RETAINED_DAYS } from './jetstream/event-stream.ts';

/** Where the relay goes on: the feed after `cursor` follows message `sequence`. */
export interface RelayPlace {
  cursor: Cursor;
  sequence: number;
  stream: string;
  created: string;
  isRecreated: boolean;
}

export interface ResumeOptions {
  client: pg.PoolClient;
  manager: JetStreamManager;
  name: string;
  config: Partial<StreamConfig> & { name: string };
  retainedDays: number | undefined;
}

interface RelayRow {
  fence: string;
  position: string;
  js_seq: number;
  js_created: string;
}

/**
 * Compares what the bus holds with what was noted in Postgres. The row stays locked meanwhile, so
 * that of two relays only one makes the stream anew. A row without `js_created` is new, or the
 * database was restored: what the stream holds then says nothing.
 */
export async function resumeRelay(options: ResumeOptions): Promise<RelayPlace> {
  const { client, name } = options;
  await client.query('insert into es.relay (name) values ($1) on conflict do nothing', [name]);
  await client.query('begin');
  try {
    const place = await findPlace(options);
    await client.query('commit');
    return place;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

async function findPlace(options: ResumeOptions): Promise<RelayPlace> {
  const { client, manager, name, config } = options;
  const { rows } = await client.query<RelayRow>(
    `select fence::text as fence, position::text as position, js_seq::int as js_seq, js_created
     from es.relay where name = $1 for update`,
    [name],
  );
  const row = rows[0] ?? { fence: '0', position: '0', js_seq: 0, js_created: '' };
  const found = await findStream(manager, config.name);
  if (!found || found.created !== row.js_created || found.state.last_seq < row.js_seq) {
    return startAnew(options);
  }
  await manager.streams.update(config.name, config);
  const same = { stream: config.name, created: found.created, isRecreated: false };
  const noted = { fence: row.fence, position: row.position };
  if (found.state.last_seq === row.js_seq) return { ...same, cursor: noted, sequence: row.js_seq };
  const cursor = await lastPublished(manager, config.name, found);
  if (!cursor) return startAnew(options);
  const place = { ...same, cursor, sequence: found.state.last_seq };
  await saveRelay(client, name, place);
  return place;
}

/** The stream ends behind the note: a relay died between the publish and the note. */
async function lastPublished(
  manager: JetStreamManager,
  stream: string,
  found: StreamInfo,
): Promise<Cursor | undefined> {
  if (found.state.messages === 0) return undefined;
  const last = await manager.streams.getMessage(stream, { seq: found.state.last_seq });
  const position = last?.header?.get(HEADER.position);
  return position ? decodePosition(position) : undefined;
}

/** Missing, rolled back or foreign: an empty stream, refilled with what it is meant to retain. */
async function startAnew(options: ResumeOptions): Promise<RelayPlace> {
  const { client, manager, name, config } = options;
  const { created } = await recreateStream(manager, config);
  const { rows } = await client.query<{ f: string; p: string }>(
    `select e.fence::text as f, (e.position - 1)::text as p from es.event e
     where e.at >= now() - make_interval(days => $1) order by e.fence, e.position limit 1`,
    [options.retainedDays ?? RETAINED_DAYS],
  );
  const [first] = rows;
  const cursor = first ? { fence: first.f, position: first.p } : START;
  await client.query(
    `update es.relay set fence = $2::xid8, position = $3, js_seq = 0, js_created = $4,
       updated_at = now() where name = $1`,
    [name, cursor.fence, cursor.position, created],
  );
  return { cursor, sequence: 0, stream: config.name, created, isRecreated: true };
}

/**
 * A relay that still believes in an older JetStream stream changes nothing. Events wait behind this
 * commit, and the place is found anew from the stream: so it need not reach the disk first.
 */
export async function saveRelay(
  client: pg.PoolClient,
  name: string,
  place: RelayPlace,
): Promise<void> {
  const { cursor, sequence, created } = place;
  await client.query({
    name: 'es-relay-save',
    text: `update es.relay set fence = $2::xid8, position = $3, js_seq = $4, updated_at = now()
           from (select set_config('synchronous_commit', 'off', true)) as unhurried
           where name = $1 and js_created = $5`,
    values: [name, cursor.fence, cursor.position, sequence, created],
  });
}
