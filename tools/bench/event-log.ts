/**
 * What the event log costs: `append` against the floor (one raw insert, one fsync), and rebuilding
 * a state against reading its rows.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventMeta, EventStore, Fold } from '@hangar/messaging';
import { createPostgresEventStore, migrateEventLog } from '@hangar/messaging/postgres';
import { startPostgres } from '@hangar/service-kit/embedded';
import pg from 'pg';
import { interleave, median, shownMs, timed, type BenchOptions, type Row } from './bench.ts';

/** Appends per second over raw inserts per second, at least. */
const APPEND_GOALS: readonly { clients: number; ratio: number }[] = [
  { clients: 1, ratio: 0.6 },
  { clients: 8, ratio: 0.45 },
  { clients: 32, ratio: 0.42 },
];
const REBUILD_EVENTS = 10_000;
const REBUILD_MS_MAX = 60;
const SNAPSHOT_MS_MAX = 2;
const SNAPSHOT_TAIL_EVENTS = 20;
const FILL_EVENTS_MAX = 200;
const ROUND_MS = 1200;
const CLIENTS_MAX = 32;

const meta: EventMeta = {
  actor: 'owner:sean',
  cause: randomUUID(),
  correlation: 'ses-0123abcd',
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
};

/** About 384 bytes of data, like a turn's end. */
const turn = (n: number): object => ({
  turn: n,
  run: `run-${n.toString(16).padStart(8, '0')}`,
  message: 'the reviewer wants a test for empty files; also update the changelog and rebase',
  exitCode: 0,
  usage: { inputTokens: 1200 + n, outputTokens: 340, cacheRead: 9000, costUsd: 0.0213 },
  summary: 'Added tests/empty.spec.ts, fixed parse() for zero-length input and pushed two commits.',
});

interface Totals {
  turns: number;
  tokens: number;
  last: string;
}
const totals: Fold<Totals> = {
  version: 1,
  initial: { turns: 0, tokens: 0, last: '' },
  evolve: (state, event) => {
    const usage = event.data['usage'] as { inputTokens: number };
    const tokens = state.tokens + usage.inputTokens;
    return { turns: state.turns + 1, tokens, last: String(event.data['run']) };
  },
};

/** Milliseconds per operation of `clients` loops that each wait for their last operation. */
async function pace(
  clients: number,
  operation: (client: number) => Promise<void>,
): Promise<number> {
  const startMs = performance.now();
  let count = 0;
  const loop = async (client: number): Promise<void> => {
    while (performance.now() - startMs < ROUND_MS) {
      await operation(client);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => loop(client)));
  return (performance.now() - startMs) / count;
}

async function insertRaw(pool: pg.Pool, clients: number): Promise<number> {
  let n = 0;
  return pace(clients, async () => {
    const values = [JSON.stringify({ type: 'TurnFinished', data: turn((n += 1)), meta })];
    const text = 'insert into floor (payload) values ($1)';
    await pool.query({ name: 'floor', text, values });
  });
}

async function append(store: EventStore, clients: number): Promise<number> {
  const run = randomBytes(4).toString('hex');
  const versions = new Map<number, number>();
  return pace(clients, async (client) => {
    const version = versions.get(client) ?? 0;
    const events = [{ type: 'TurnFinished', data: turn(version) }];
    const result = await store.append(`session/${run}-${client}`, version, events, { meta });
    if (result.kind !== 'appended') throw new Error(`append answered ${result.kind}`);
    versions.set(client, result.version);
  });
}

const perSecond = (ms: readonly number[]): string => `${(1000 / median(ms)).toFixed(0)}/s`;

async function benchAppend(
  pool: pg.Pool,
  store: EventStore,
  options: BenchOptions,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { clients, ratio: goal } of APPEND_GOALS) {
    const [raw = [], appended = []] = await interleave(
      [{ run: () => insertRaw(pool, clients) }, { run: () => append(store, clients) }],
      options,
    );
    const ratio = median(appended.map((ms, round) => (raw[round] ?? NaN) / ms));
    rows.push({
      what: `append, ${clients} client${clients > 1 ? 's' : ''}, over a raw fsynced insert`,
      measured: perSecond(appended),
      reference: perSecond(raw),
      ratio: ratio.toFixed(2),
      goal: `>= ${goal.toFixed(2)}`,
      isMet: ratio >= goal,
    });
  }
  return rows;
}

async function fill(store: EventStore, stream: string, from: number, to: number): Promise<void> {
  for (let version = from; version < to;) {
    const count = Math.min(FILL_EVENTS_MAX, to - version);
    const events = Array.from({ length: count }, (_, i) => ({
      type: 'TurnFinished',
      data: turn(version + i),
    }));
    await store.append(stream, version, events, { meta });
    version += count;
  }
}

async function benchRebuild(
  pool: pg.Pool,
  store: EventStore,
  options: BenchOptions,
): Promise<Row[]> {
  const stream = 'session/rebuilt';
  await fill(store, stream, 0, REBUILD_EVENTS);
  await pool.query('vacuum analyze');
  const text = 'select type, data from es.event where stream_id = $1 order by version';
  const query = { name: 'raw', text, values: [stream], rowMode: 'array' as const };
  const forget = async (): Promise<void> => void (await pool.query('delete from es.snapshot'));
  const [raw = [], whole = []] = await interleave(
    [
      { run: () => timed(() => pool.query(query)) },
      { prepare: forget, run: () => timed(() => store.loadState(stream, totals)) },
    ],
    options,
  );
  const [tail = []] = await interleave(
    [
      {
        prepare: (round) => {
          const version = REBUILD_EVENTS + round * SNAPSHOT_TAIL_EVENTS;
          return fill(store, stream, version, version + SNAPSHOT_TAIL_EVENTS);
        },
        run: () => timed(() => store.loadState(stream, totals)),
      },
    ],
    options,
  );
  return [
    {
      what: `rebuild of ${REBUILD_EVENTS.toLocaleString('en')} events, over reading their rows`,
      measured: shownMs(median(whole)),
      reference: shownMs(median(raw)),
      ratio: (median(whole) / median(raw)).toFixed(2),
      goal: `<= ${REBUILD_MS_MAX} ms`,
      isMet: median(whole) <= REBUILD_MS_MAX,
    },
    {
      what: `rebuild from a snapshot and ${SNAPSHOT_TAIL_EVENTS} events`,
      measured: shownMs(median(tail)),
      reference: '',
      ratio: '',
      goal: `<= ${SNAPSHOT_MS_MAX} ms`,
      isMet: median(tail) <= SNAPSHOT_MS_MAX,
    },
  ];
}

export async function benchEventLog(options: BenchOptions): Promise<Row[]> {
  const directory = await mkdtemp(join(tmpdir(), 'hangar-bench-'));
  const password = randomBytes(8).toString('hex');
  const server = await startPostgres({ directory, port: 0, password });
  const pool = new pg.Pool({ connectionString: server.url, max: CLIENTS_MAX });
  // A server that stops takes idle connections along.
  pool.on('error', () => undefined);
  try {
    await migrateEventLog(pool);
    await pool.query(
      'create table floor (id bigint generated always as identity primary key, payload jsonb not null)',
    );
    const store = createPostgresEventStore({
      pool,
      owns: ['session'],
      validate: () => undefined,
    });
    return [
      ...(await benchAppend(pool, store, options)),
      ...(await benchRebuild(pool, store, options)),
    ];
  } finally {
    await pool.end();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
}
