import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HangarError, validateEvent } from '@hangar/contracts';
import { createPresence, makeTable, type Presence } from '@hangar/messaging';
import { createPostgresEventStore } from '@hangar/messaging/postgres';
import { createFakeDriver, type FakeDriver } from '@hangar/sandbox-drivers/fake';
import { createTestDatabase, type TestDatabase } from '@hangar/testing';
import pg from 'pg';
import type { SandboxCommand } from './sandbox.decider.ts';
import { createReaper, type Reaper } from './sandbox.reaper.ts';
import {
  SANDBOX_INDEX_TABLE,
  createSandboxes,
  sandboxesAhead,
  type Sandboxes,
} from './sandbox.service.ts';

const PRESENCE = `create table if not exists es.presence (
  sandbox_id text primary key, last_active_at timestamptz, held_until timestamptz,
  closed boolean not null default false)`;
const meta = { actor: 'service:test', cause: null, correlation: 'test' };

let database: TestDatabase;
let pool: pg.Pool;
let driver: FakeDriver;
let sandboxes: Sandboxes;
let presence: Presence;
let reaper: Reaper;
/** Minutes that the reaper's clock is before the database's. */
let ahead = 0;
const errors: unknown[] = [];
const now = (): Date => new Date(Date.now() + ahead * 60_000);

beforeEach(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 10 });
  pool.on('error', () => undefined);
  await Promise.all(
    [1, 2, 3].flatMap(() => [makeTable(pool, PRESENCE), makeTable(pool, SANDBOX_INDEX_TABLE)]),
  );
  const store = createPostgresEventStore({ pool, owns: ['sandbox'], validate: validateEvent });
  sandboxes = createSandboxes(pool, store);
  presence = createPresence(pool);
  driver = createFakeDriver();
  ahead = 0;
  errors.length = 0;
  reaper = createReaper({
    pool,
    sandboxes,
    driver,
    presence,
    ttlMinutes: 60,
    activeMax: 3,
    isOwn: (id) => id.startsWith('feed-'),
    now,
    onError: (error) => errors.push(error),
  });
});
afterEach(async () => {
  await reaper.stop();
  await pool.end();
  await database.drop();
});

const id = (number: number): string => `sbx-1a2b3c4d-${number}`;

const tell = (sandbox: string, command: Omit<SandboxCommand, 'now'>) =>
  sandboxes.execute(sandbox, { ...command, now: now().toISOString() } as SandboxCommand, { meta });

const requested = (sandbox: string) =>
  tell(sandbox, {
    type: 'ProvisionSandbox',
    data: {
      sandbox_id: sandbox,
      session_id: 'ses-1a2b3c4d',
      epoch: 1,
      owner: 'ada',
      environment: 'default',
      harness: 'fake',
      branch: 'b',
      cwd: '/workspace/repo',
      purpose: 'start',
      requested_at: now().toISOString(),
    },
  });

const create = (sandbox: string) =>
  driver.create({
    id: sandbox,
    sessionId: 'ses-1a2b3c4d',
    cwd: '/workspace',
    envVars: {},
    network: 'open',
    mounts: [],
    resources: {},
  });

async function ready(number: number): Promise<string> {
  const sandbox = id(number);
  await requested(sandbox);
  const { instance } = await create(sandbox);
  await tell(sandbox, {
    type: 'MarkReady',
    data: {
      place: {
        sandbox_id: sandbox,
        instance,
        home: '/home/agent',
        cwd: '/workspace/repo',
        node: 'node',
        tools: '/tools',
        harness_root: '/harness',
      },
      expires_at: new Date(now().getTime() + 60 * 60_000).toISOString(),
      environment_version: 1,
    },
  });
  return sandbox;
}

const eventsOf = async (sandbox: string): Promise<string[]> => {
  const { rows } = await pool.query<{ type: string }>(
    'select type from es.event where stream_id = $1 order by version',
    [`sandbox/${sandbox}`],
  );
  return rows.map(({ type }) => type);
};

const made = async (): Promise<string[]> => (await driver.list()).map((each) => each.id);

describe('what the log says and what is there', () => {
  it('agree: nothing is done', async () => {
    const sandbox = await ready(1);
    await reaper.pass();
    expect(await eventsOf(sandbox)).toEqual(['SandboxProvisionRequested', 'SandboxReady']);
    expect(await made()).toEqual([sandbox]);
  });

  it('differ: one that ended, or is not there, is lost; once, with the reason', async () => {
    const [stopped, gone] = [await ready(1), await ready(2)];
    driver.vanish(stopped);
    await driver.destroy(gone);
    await reaper.pass();
    await reaper.pass();
    expect((await eventsOf(stopped)).slice(2)).toEqual(['SandboxLost']);
    expect((await eventsOf(gone)).slice(2)).toEqual(['SandboxLost']);
  });

  it('cannot be compared while the driver cannot be asked: nothing is lost or removed [S5]', async () => {
    const sandbox = await ready(1);
    await create(id(7));
    ahead = 120;
    driver.faults.isUnreachable = true;
    await expect(reaper.pass()).rejects.toMatchObject({ code: 'unavailable' });
    driver.faults.isUnreachable = false;
    expect(await eventsOf(sandbox)).toHaveLength(2);
    expect((await made()).toSorted()).toEqual([sandbox, id(7)]);
  });

  it('one that cannot be asked about keeps nobody else waiting [X5]', async () => {
    const [odd, stopped] = [await ready(1), await ready(2)];
    driver.vanish(odd);
    driver.vanish(stopped);
    const { get } = driver;
    driver.get = (sandbox) =>
      sandbox === odd ? Promise.reject(new HangarError('unavailable', 'late')) : get(sandbox);
    await reaper.pass();
    expect(errors).toMatchObject([{ code: 'unavailable' }]);
    expect(await eventsOf(odd)).toHaveLength(2);
    expect((await eventsOf(stopped)).at(-1)).toBe('SandboxLost');
  });

  it('a list that is older than a sandbox does not make it lost', async () => {
    const sandbox = await ready(1);
    driver.list = async () => [];
    await reaper.pass();
    expect(await eventsOf(sandbox)).toHaveLength(2);
  });
});

describe('a sandbox that no session owns', () => {
  it('is removed once it is old enough to be nobody’s [X5]', async () => {
    await create(id(9));
    await reaper.pass();
    expect(await made()).toEqual([id(9)]);
    ahead = 2;
    await reaper.pass();
    expect(await made()).toEqual([]);
  });

  it('is left alone when it is being made, or is hangar’s own', async () => {
    await requested(id(1));
    await create(id(1));
    await create('feed-1');
    ahead = 2;
    await reaper.pass();
    expect((await made()).toSorted()).toEqual(['feed-1', id(1)]);
  });

  it('is removed when its end is on record and it is there all the same', async () => {
    const sandbox = await ready(1);
    await tell(sandbox, { type: 'DestroySandbox', data: { cause: 'asked', force: true } });
    await tell(sandbox, { type: 'MarkDestroyed', data: { cause: 'asked' } });
    ahead = 2;
    await reaper.pass();
    expect(await made()).toEqual([]);
  });
});

describe('a sandbox at the end of its lifetime', () => {
  it('says so once and waits for an answer [X3]', async () => {
    const sandbox = await ready(1);
    ahead = 61;
    await reaper.pass();
    await reaper.pass();
    expect((await eventsOf(sandbox)).slice(2)).toEqual(['SandboxExpiring']);
    expect(await made()).toEqual([sandbox]);
  });

  it('with an open terminal, or just used, gets more time [X4] [X5]', async () => {
    const [held, used] = [await ready(1), await ready(2)];
    ahead = 61;
    await presence.hold(held, 600);
    await pool.query('insert into es.presence (sandbox_id, last_active_at) values ($1, $2)', [
      used,
      now(),
    ]);
    await reaper.pass();
    expect((await eventsOf(held)).slice(2)).toEqual(['SandboxExtended']);
    expect((await eventsOf(used)).slice(2)).toEqual(['SandboxExtended']);
    const { state } = await sandboxes.load(held);
    expect(Date.parse(state?.expires_at ?? '') - now().getTime()).toBeGreaterThan(59 * 60_000);
  });

  it('that was used long ago does not', async () => {
    const sandbox = await ready(1);
    await presence.touch(sandbox);
    ahead = 61;
    await reaper.pass();
    expect((await eventsOf(sandbox)).slice(2)).toEqual(['SandboxExpiring']);
  });
});

describe('at capacity [X6]', () => {
  const asked = async (): Promise<string[]> => {
    const { rows } = await pool.query<{ id: string }>(
      `select data->>'sandbox_id' as id from es.event where type = 'SandboxExpiring' order by position`,
    );
    return rows.map((row) => row.id);
  };
  const usedBefore = (sandbox: string, minutes: number) =>
    pool.query(
      `insert into es.presence (sandbox_id, last_active_at) values ($1, now() - make_interval(mins => $2))
       on conflict (sandbox_id) do update set last_active_at = excluded.last_active_at`,
      [sandbox, minutes],
    );
  const extended = (sandbox: string) =>
    tell(sandbox, {
      type: 'ExtendSandbox',
      data: {
        expires_at: new Date(now().getTime() + 60 * 60_000).toISOString(),
        reason: 'the session is ACTIVE',
      },
    });

  it('the one idle for longest is asked for its place; nobody is while there is room', async () => {
    const all = [await ready(1), await ready(2), await ready(3)];
    for (const [at, sandbox] of all.entries()) await usedBefore(sandbox, [5, 20, 10][at] ?? 0);
    await reaper.pass();
    expect(await asked()).toEqual([]);
    await requested(id(4));
    await reaper.pass();
    await reaper.pass();
    expect(await asked()).toEqual([id(2)]);
    const { rows } = await pool.query<{ reason: string }>(
      `select data->>'reason' as reason from es.event where type = 'SandboxExpiring'`,
    );
    expect(rows[0]?.reason).toContain('idle for longest (20 min)');
    // Its place is free once it is gone; until then it is on its way.
    await tell(id(2), { type: 'DestroySandbox', data: { cause: 'suspend', force: false } });
    await reaper.pass();
    expect(await asked()).toEqual([id(2)]);
    // One that never ends is not waited for for ever [X5].
    ahead = 2;
    await reaper.pass();
    expect(await asked()).toEqual([id(2), id(3)]);
  });

  it('one for each that waits; the next one when a session keeps its own', async () => {
    const all = [await ready(1), await ready(2), await ready(3)];
    for (const [at, sandbox] of all.entries()) await usedBefore(sandbox, 30 - at);
    await requested(id(4));
    await requested(id(5));
    await reaper.pass();
    expect(await asked()).toEqual([id(1), id(2)]);
    await extended(id(1));
    await reaper.pass();
    expect(await asked()).toEqual([id(1), id(2), id(3)]);
    await extended(id(2));
    await extended(id(3));
    await reaper.pass();
    expect(await asked()).toHaveLength(3);
    ahead = 2;
    for (const sandbox of all) await usedBefore(sandbox, 30);
    await reaper.pass();
    expect(await asked()).toHaveLength(5);
  });

  it('one that is in use, or has a terminal open, is never asked', async () => {
    const [used, held, fresh] = [await ready(1), await ready(2), await ready(3)];
    await presence.touch(used);
    await usedBefore(held, 60);
    await presence.hold(held, 600);
    await usedBefore(fresh, 1);
    await requested(id(4));
    await reaper.pass();
    expect(await asked()).toEqual([]);
  });
});

describe('the places ahead of a sandbox [X6]', () => {
  it('are those asked for before it that are not over', async () => {
    for (const number of [1, 2, 3]) await requested(id(number));
    expect(await sandboxesAhead(pool, id(1))).toBe(0);
    expect(await sandboxesAhead(pool, id(3))).toBe(2);
    await tell(id(1), { type: 'DestroySandbox', data: { cause: 'asked', force: true } });
    expect(await sandboxesAhead(pool, id(3))).toBe(2);
    await tell(id(1), { type: 'MarkDestroyed', data: { cause: 'asked' } });
    expect(await sandboxesAhead(pool, id(3))).toBe(1);
  });
});
