import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { HangarClient } from '@hangar/client';
import { SHAPE, System } from './system.ts';
import {
  WAIT_SECONDS,
  defineEnvironment,
  openWorkplace,
  sessionWhere,
  shell,
  until,
  type Workplace,
} from './workplace.ts';

const PLACES = 2;

describe(`more sessions than places [X6] (${SHAPE})`, () => {
  let work: Workplace;
  let system: System;
  let client: HangarClient;

  beforeAll(async () => {
    work = await openWorkplace();
    system = await System.start({ envVars: { HANGAR_MAX_ACTIVE_SESSIONS: String(PLACES) } });
    client = system.client();
    await defineEnvironment(client, work);
  }, 120_000);
  afterAll(async () => {
    await system?.dispose();
    await work?.dispose();
  }, 60_000);

  const create = (name: string, waitSeconds?: number) =>
    client.sessions.create(
      { name, environment: 'default', harness: 'fake', repo: work.repo },
      { waitSeconds },
    );
  /** As if nobody had used its sandbox for an hour. */
  const rest = async (name: string): Promise<void> => {
    const { sandbox_id } = await client.sessions.get(name);
    await system.sql(
      `insert into es.presence (sandbox_id, last_active_at)
       values ('${sandbox_id}', now() - interval '1 hour')
       on conflict (sandbox_id) do update
         set last_active_at = excluded.last_active_at, held_until = null`,
    );
  };

  it('the one idle for longest makes room, and has everything when it comes back', async () => {
    await create('first', WAIT_SECONDS);
    await create('second', WAIT_SECONDS);
    await shell(client, 'first', 'echo loose > u.txt');
    await create('third');
    // Nobody rests yet: it waits, visibly.
    const waits = await sessionWhere(client, 'third', (s) => s.state_reason.includes('queue'));
    expect(waits.state_reason).toContain(`all ${PLACES} places are taken; number 1 in the queue`);
    expect((await client.sessions.get('first')).state).toBe('IDLE');
    await rest('first');
    await sessionWhere(client, 'third', (s) => s.state === 'IDLE');
    const gone = await client.sessions.get('first');
    expect(gone).toMatchObject({ state: 'SUSPENDED' });
    expect(gone.state_reason).toContain('another session waits for its place');
    expect((await client.sessions.get('second')).state).toBe('IDLE');
    // Back again, it waits for the other that rests.
    const back = client.sessions.open('first', { waitSeconds: WAIT_SECONDS });
    await sessionWhere(client, 'first', (s) => s.state_reason.includes('queue'));
    await rest('second');
    expect(await back).toMatchObject({ state: 'IDLE' });
    expect(await shell(client, 'first', 'cat u.txt')).toBe('loose\n');
    expect((await client.sessions.get('second')).state).toBe('SUSPENDED');
  }, 120_000);

  it('one that is kept up, or at work, is never taken', async () => {
    await client.sessions.keep('first', 0);
    await client.sessions.send('third', { message: '[[ run: sleep 600 ]]' });
    await sessionWhere(client, 'third', (s) => s.turns[0]?.started_at != null);
    // Nothing used either sandbox for an hour: it is the session that says that it stays.
    await rest('first');
    await rest('third');
    await create('fourth');
    await sessionWhere(client, 'fourth', (s) => s.state_reason.includes('queue'));
    for (const session of ['first', 'third'])
      await until(`the answer of ${session}`, async () => {
        const { items } = await client.audit.list({ session, type: 'SandboxKeepRequested' });
        return items.length > 0;
      });
    expect((await client.sessions.get('first')).state).toBe('IDLE');
    expect((await client.sessions.get('third')).state).toBe('ACTIVE');
    expect((await client.sessions.get('fourth')).state).toBe('STARTING');
  }, 60_000);
});
