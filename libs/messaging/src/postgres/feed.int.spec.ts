import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, seededRandom, type TestDatabase } from '@hangar/testing';
import pg from 'pg';
import { START, type Cursor, type RecordedEvent } from '../event.ts';
import type { EventStore } from '../event-store.ts';
import { sampleEvent, sampleMeta, sampleStore } from '../testing/sample.ts';
import { inTransaction } from './transaction.ts';

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 16 });
  store = sampleStore(pool);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const meta = sampleMeta();

/**
 * A transaction like those of consumers: it gets its id early by writing something else, then
 * dawdles, then appends; some are rolled back. So ids, positions and commits are all out of step.
 */
async function interleaved(stream: string, random: () => number): Promise<boolean> {
  return inTransaction(pool, async (tx) => {
    if (random() < 0.7) await tx.query('select pg_current_xact_id()');
    if (random() < 0.5) await delay(random() * 6);
    const { version } = await store.load(stream);
    const result = await store.append(stream, version, [sampleEvent(version + 1)], { meta, tx });
    if (random() < 0.4) await delay(random() * 6);
    if (random() < 0.1) throw new Error('given up');
    return result.kind === 'appended';
  }).catch((error: Error) => {
    if (error.message !== 'given up') throw error;
    return false;
  });
}

describe('feed', () => {
  it('loses nothing and never turns versions round, however transactions overlap', async () => {
    const seed = Date.now() % 100_000;
    console.log(`seed ${seed}`);
    const random = seededRandom(seed);
    const seen: RecordedEvent[] = [];
    let cursor: Cursor = START;
    let isWriting = true;
    const read = async (): Promise<void> => {
      const events = await store.feed(cursor, 1 + Math.floor(random() * 20));
      seen.push(...events);
      cursor = events.at(-1)?.position ?? cursor;
    };
    const reading = (async () => {
      while (isWriting) await read();
    })();
    let committed = 0;
    const writers = Array.from({ length: 10 }, async () => {
      for (let i = 0; i < 80; i += 1) {
        const stream = `session/s${Math.floor(random() * 6)}`;
        if (await interleaved(stream, random)) committed += 1;
      }
    });
    await Promise.all(writers);
    isWriting = false;
    await reading;
    for (let before = -1; before !== seen.length;) {
      before = seen.length;
      await read();
    }
    const last = new Map<string, number>();
    const inversions = seen.filter((event) => {
      const version = last.get(event.stream) ?? 0;
      last.set(event.stream, event.version);
      return event.version !== version + 1;
    });
    console.log(`${committed} committed, ${seen.length} read`);
    expect(committed).toBeGreaterThan(200);
    expect(inversions).toEqual([]);
    expect(seen.length).toBe(committed);
    const { rows } = await pool.query<{ n: number }>('select count(*)::int as n from es.event');
    expect(rows[0]?.n).toBe(committed);
  });

  it('waits for an open writer and not for an open reader', async () => {
    const at = await store.head();
    await inTransaction(pool, async (tx) => {
      await tx.query('select pg_current_xact_id()');
      await store.append('session/waits', 0, [sampleEvent(1)], { meta });
      expect(await store.feed(at, 10)).toEqual([]);
    });
    expect(await store.feed(at, 10)).toHaveLength(1);
    const then = await store.head();
    await inTransaction(pool, async (tx) => {
      await tx.query('select count(*) from es.event');
      await store.append('session/waits', 1, [sampleEvent(2)], { meta });
      expect(await store.feed(then, 10)).toHaveLength(1);
    });
  });

  it('keeps the order of a stream when an older transaction appends after a younger one', async () => {
    const at = await store.head();
    await inTransaction(pool, async (tx) => {
      // Its id is older than that of the transaction which appends version 1.
      await tx.query('select pg_current_xact_id()');
      await store.append('session/turned', 0, [sampleEvent(1)], { meta });
      await store.append('session/turned', 1, [sampleEvent(2)], { meta, tx });
    });
    const events = await store.feed(at, 10);
    expect(events.map((event) => event.version)).toEqual([1, 2]);
    // What a feed ordered by the appending transaction alone would do.
    const { rows } = await pool.query<{ version: number }>(
      `select version::int as version from es.event where stream_id = 'session/turned'
       order by xmin::text::bigint, position`,
    );
    expect(rows.map((row) => row.version)).toEqual([2, 1]);
  });
});
