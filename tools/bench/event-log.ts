/**
 * What the event log costs, as ratios inside one run, because absolute numbers move with the
 * machine: `append` against the floor (one raw insert, one fsync), and rebuilding a state.
 * Run: node --conditions=@hangar/source tools/bench/event-log.ts [rounds]
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventMeta, EventStore, Fold } from '@hangar/messaging';
import { createPostgresEventStore, migrateEventLog } from '@hangar/messaging/postgres';
import { startPostgres } from '@hangar/service-kit/embedded';
import pg from 'pg';

/** Appends per second over raw inserts per second, at least. */
const APPEND_GOALS: Record<number, number> = { 1: 0.6, 8: 0.45, 32: 0.42 };
const REBUILD_EVENTS = 10_000;
const REBUILD_MS_MAX = 60;
const SNAPSHOT_MS_MAX = 2;
const SNAPSHOT_TAIL = 20;
const ROUND_MS = 1200;
const CLIENTS_MAX = 32;

const rounds = Number(process.argv[2] ?? 5);
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

const median = (numbers: number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN;

/** Operations per second of `clients` loops that each wait for their last operation. */
async function rate(clients: number, operation: (client: number) => Promise<void>) {
  const startMs = performance.now();
  let count = 0;
  const loop = async (client: number): Promise<void> => {
    while (performance.now() - startMs < ROUND_MS) {
      await operation(client);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => loop(client)));
  return (count * 1000) / (performance.now() - startMs);
}

async function floorRate(pool: pg.Pool, clients: number): Promise<number> {
  let n = 0;
  return rate(clients, async () => {
    const values = [JSON.stringify({ type: 'TurnFinished', data: turn((n += 1)), meta })];
    const text = 'insert into floor (payload) values ($1)';
    await pool.query({ name: 'floor', text, values });
  });
}

async function appendRate(store: EventStore, clients: number): Promise<number> {
  const run = randomBytes(4).toString('hex');
  const versions = new Map<number, number>();
  return rate(clients, async (client) => {
    const version = versions.get(client) ?? 0;
    const events = [{ type: 'TurnFinished', data: turn(version) }];
    const result = await store.append(`session/${run}-${client}`, version, events, { meta });
    if (result.kind !== 'appended') throw new Error(`append answered ${result.kind}`);
    versions.set(client, result.version);
  });
}

async function benchAppend(pool: pg.Pool, store: EventStore): Promise<boolean> {
  let isGood = true;
  for (const [text, goal] of Object.entries(APPEND_GOALS)) {
    const clients = Number(text);
    const found: { floor: number; append: number }[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const isSwapped = round % 2 === 1;
      const first = isSwapped ? await appendRate(store, clients) : 0;
      const floor = await floorRate(pool, clients);
      const append = isSwapped ? first : await appendRate(store, clients);
      if (round > 0) found.push({ floor, append });
    }
    const ratio = median(found.map((pair) => pair.append / pair.floor));
    isGood &&= ratio >= goal;
    console.log(
      `append, ${text.padStart(2)} clients: ${ratio.toFixed(2)} of the floor (goal ${goal}); ` +
        `${median(found.map((pair) => pair.append)).toFixed(0)}/s against ` +
        `${median(found.map((pair) => pair.floor)).toFixed(0)}/s`,
    );
  }
  return isGood;
}

async function fill(store: EventStore, stream: string, from: number, to: number): Promise<void> {
  for (let version = from; version < to;) {
    const count = Math.min(200, to - version);
    const events = Array.from({ length: count }, (_, i) => ({
      type: 'TurnFinished',
      data: turn(version + i),
    }));
    await store.append(stream, version, events, { meta });
    version += count;
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

async function benchRebuild(pool: pg.Pool, store: EventStore): Promise<boolean> {
  const stream = 'session/rebuilt';
  await fill(store, stream, 0, REBUILD_EVENTS);
  await pool.query('vacuum analyze');
  const raw: number[] = [];
  const whole: number[] = [];
  const snapshot: number[] = [];
  for (let round = 0; round <= rounds * 2; round += 1) {
    await pool.query('delete from es.snapshot');
    const text = 'select type, data from es.event where stream_id = $1 order by version';
    const query = { name: 'raw', text, values: [stream], rowMode: 'array' as const };
    const rawMs = await timed(() => pool.query(query));
    const wholeMs = await timed(() => store.loadState(stream, totals));
    const version = REBUILD_EVENTS + round * SNAPSHOT_TAIL;
    await fill(store, stream, version, version + SNAPSHOT_TAIL);
    const snapshotMs = await timed(() => store.loadState(stream, totals));
    if (round === 0) continue;
    raw.push(rawMs);
    whole.push(wholeMs);
    snapshot.push(snapshotMs);
  }
  const ratio = median(whole.map((ms, i) => ms / (raw[i] ?? NaN)));
  console.log(
    `rebuild of ${REBUILD_EVENTS} events: ${median(whole).toFixed(1)} ms (goal ${REBUILD_MS_MAX}), ` +
      `${ratio.toFixed(2)} of reading type and data raw (${median(raw).toFixed(1)} ms)`,
  );
  console.log(
    `rebuild from a snapshot and ${SNAPSHOT_TAIL} events: ${median(snapshot).toFixed(2)} ms ` +
      `(goal ${SNAPSHOT_MS_MAX})`,
  );
  return median(whole) <= REBUILD_MS_MAX && median(snapshot) <= SNAPSHOT_MS_MAX;
}

const directory = await mkdtemp(join(tmpdir(), 'hangar-bench-'));
const server = await startPostgres({
  directory,
  port: 0,
  password: randomBytes(8).toString('hex'),
});
const pool = new pg.Pool({ connectionString: server.url, max: CLIENTS_MAX });
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
  const results = [await benchAppend(pool, store), await benchRebuild(pool, store)];
  if (results.includes(false)) process.exitCode = 1;
} finally {
  await pool.end();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}
