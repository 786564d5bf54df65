import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@hangar/testing';
import { startPostgres, type EmbeddedPostgres } from '@hangar/service-kit/embedded';
import pg from 'pg';
import { sampleEvent, sampleMeta, sampleStore } from '../testing/sample.ts';
import { migrateEventLog } from './migrate.ts';

const WRITERS = 8;
const ACKED_BEFORE_KILL = 1500;

let directory = '';
let server: EmbeddedPostgres;
const start = (): Promise<EmbeddedPostgres> =>
  startPostgres({ directory, port: 0, password: 'secret' });
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hangar-crash-'));
  server = await start();
}, 60_000);
afterAll(async () => {
  await server.stop();
  await rm(directory, { recursive: true, force: true });
});

interface Try {
  stream: string;
  expected: number;
  id: string;
}

describe('kill -9 of Postgres under eight writers', () => {
  it('loses no acknowledged event, and an unknown commit is retried by id', async () => {
    let pool = openPool();
    await migrateEventLog(pool);
    const store = sampleStore(pool);
    const meta = sampleMeta();
    const acked: Try[] = [];
    const unknown: Try[] = [];
    const writers = Array.from({ length: WRITERS }, async (_, writer) => {
      for (let expected = 0; ; expected += 1) {
        const attempt = { stream: `session/s${writer}`, expected, id: randomUUID() };
        try {
          const event = sampleEvent(expected, attempt.id);
          await store.append(attempt.stream, expected, [event], { meta });
          acked.push(attempt);
        } catch {
          unknown.push(attempt);
          return;
        }
      }
    });
    await eventually(() => acked.length >= ACKED_BEFORE_KILL, { withinMs: 40_000 });
    process.kill(server.pid, 'SIGKILL');
    await Promise.all(writers);
    await server.gone;
    await pool.end();

    server = await start();
    pool = openPool();
    const restarted = sampleStore(pool);
    const { rows } = await pool.query<{ id: string }>('select id::text as id from es.event');
    const stored = new Set(rows.map((row) => row.id));
    const committed = unknown.filter((attempt) => stored.has(attempt.id)).length;
    console.log(`${acked.length} acked, ${unknown.length} unknown, ${committed} had committed`);
    expect(acked.filter((attempt) => !stored.has(attempt.id))).toEqual([]);
    expect(unknown).toHaveLength(WRITERS);
    for (const { stream, expected, id } of unknown) {
      const again = await restarted.append(stream, expected, [sampleEvent(expected, id)], { meta });
      expect(again).toMatchObject({ kind: 'appended', version: expected + 1 });
    }
    const total = await pool.query<{ n: number }>('select count(*)::int as n from es.event');
    expect(total.rows[0]?.n).toBe(acked.length + WRITERS);
    expect(await restarted.verify()).toEqual([]);
    await pool.end();
  }, 90_000);

  const openPool = (): pg.Pool => {
    const pool = new pg.Pool({ connectionString: server.url, max: WRITERS });
    pool.on('error', () => undefined);
    return pool;
  };
});
