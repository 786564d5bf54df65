import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@hangar/testing';
import pg from 'pg';
import { makeTable } from './connect.ts';
import { inTransaction } from './postgres/transaction.ts';
import { PRESENCE_TABLE, createPresence, type Presence } from './presence.ts';

let database: TestDatabase;
let pool: pg.Pool;
let presence: Presence;
let next = 0;
const newId = (): string => `sbx-1a2b3c4d-${(next += 1)}`;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 12 });
  pool.on('error', () => undefined);
  // As replicas do that start together.
  await Promise.all(Array.from({ length: 8 }, () => makeTable(pool, PRESENCE_TABLE)));
  presence = createPresence(pool);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const close = (id: string, closed: boolean) =>
  inTransaction(pool, (tx) => presence.close(id, closed, tx));
const read = (id: string) => inTransaction(pool, (tx) => presence.read(id, tx));

describe('who uses a sandbox [X4]', () => {
  it('is nobody before the first use, and then known to the second', async () => {
    const id = newId();
    expect(await read(id)).toEqual({ lastActiveAt: null, held: false });
    await presence.touch(id);
    const { lastActiveAt, held } = await read(id);
    expect(Math.abs(Date.now() - (lastActiveAt?.getTime() ?? 0))).toBeLessThan(5_000);
    expect(held).toBe(false);
    expect([...(await presence.lastActive([id, newId()])).keys()]).toEqual([id]);
  });

  it('is held for as long as was said', async () => {
    const id = newId();
    await presence.hold(id, 60);
    expect((await read(id)).held).toBe(true);
    await presence.hold(id, -1);
    expect((await read(id)).held).toBe(false);
  });

  it('lets nobody in while it is being suspended, not even right after a use', async () => {
    const id = newId();
    await presence.touch(id);
    await close(id, true);
    await expect(presence.touch(id)).rejects.toMatchObject({ code: 'conflict' });
    await expect(presence.hold(id, 60)).rejects.toMatchObject({ code: 'conflict' });
    await expect(createPresence(pool).touch(id)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('lets them in again after a suspend that was given up', async () => {
    const id = newId();
    await close(id, true);
    await close(id, false);
    await presence.touch(id);
    await presence.hold(id, 60);
    expect((await read(id)).held).toBe(true);
  });

  it('a use and the decision to suspend exclude each other', async () => {
    for (let round = 0; round < 20; round += 1) {
      const id = newId();
      await presence.hold(id, -1);
      const suspend = inTransaction(pool, async (tx) => {
        const { held } = await presence.read(id, tx);
        if (held) return 'kept';
        await presence.close(id, true, tx);
        return 'closed';
      });
      const use = presence.hold(id, 60).then(
        () => 'in',
        () => 'out',
      );
      const outcome = await Promise.all([suspend, use]);
      expect(['kept in', 'closed out']).toContain(outcome.join(' '));
    }
  });

  it('a suspend that is rolled back closes nothing', async () => {
    const id = newId();
    const failing = inTransaction(pool, async (tx) => {
      await presence.close(id, true, tx);
      throw new Error('decided otherwise');
    });
    await expect(failing).rejects.toThrow('otherwise');
    await presence.touch(id);
  });

  it('is forgotten with its sandbox', async () => {
    const id = newId();
    await presence.touch(id);
    await close(id, true);
    await presence.forget(id);
    expect((await presence.lastActive([id])).size).toBe(0);
    await presence.touch(id);
  });
});
