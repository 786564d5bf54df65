import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RELEASE_DEADLINE_MINUTES, validateEvent } from '@hangar/contracts';
import {
  createLocalWake,
  createPresence,
  makeTable,
  type Presence,
  type TimerRunner,
} from '@hangar/messaging';
import { createPostgresEventStore } from '@hangar/messaging/postgres';
import {
  createFakeClock,
  createTestDatabase,
  eventually,
  type FakeClock,
  type TestDatabase,
} from '@hangar/testing';
import pg from 'pg';
import type { SessionCommand, SessionCommands } from './session.commands.ts';
import { withPresence } from './presence-now.ts';
import { SESSION_NAME_TABLE, createSessions, type Sessions } from './session.service.ts';
import { createSessionTicker } from './session.ticker.ts';
import {
  SESSION_ID,
  STORIES,
  attach,
  command,
  create,
  minute,
  record,
  sandboxId,
  suspend,
  type StoryName,
} from './testing/stories.ts';

const PRESENCE = `create table if not exists es.presence (
  sandbox_id text primary key, last_active_at timestamptz, held_until timestamptz,
  closed boolean not null default false)`;
const settings = { startDeadlineMinutes: 15, checkpointMinutes: 10 };
/** So that a test of idleness is not one of checkpoints too. */
const SELDOM_MINUTES = 600;
const meta = { actor: 'owner:ada', cause: null, correlation: 'test' };

let database: TestDatabase;
let pool: pg.Pool;
let presence: Presence;
let sessions: Sessions;
let clock: FakeClock;
let ticker: TimerRunner | undefined;
const errors: unknown[] = [];

beforeEach(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 10 });
  pool.on('error', () => undefined);
  await Promise.all(
    [1, 2, 3].flatMap(() => [makeTable(pool, PRESENCE), makeTable(pool, SESSION_NAME_TABLE)]),
  );
  presence = createPresence(pool);
  const store = createPostgresEventStore({ pool, owns: ['session'], validate: validateEvent });
  sessions = createSessions({ pool, store, presence, settings });
  clock = createFakeClock(minute(0));
  errors.length = 0;
  settings.checkpointMinutes = 10;
});
afterEach(async () => {
  await ticker?.stop();
  ticker = undefined;
  await pool.end();
  await database.drop();
});

const does = (next: SessionCommand, id = SESSION_ID) => sessions.execute(id, next, { meta });

async function tell(...commands: readonly SessionCommand[]): Promise<void> {
  for (const each of commands) await does(each);
}
const story = (name: StoryName): Promise<void> => tell(...STORIES[name]);

const eventsOf = async (id = SESSION_ID): Promise<string[]> => {
  const { rows } = await pool.query<{ type: string }>(
    'select type from es.event where stream_id = $1 order by version',
    [`session/${id}`],
  );
  return rows.map(({ type }) => type);
};

const stateOf = async (): Promise<string> => {
  const { state } = await sessions.load(SESSION_ID);
  return state?.phase.state ?? 'none';
};

const timersOf = async (): Promise<Map<string, Date>> => {
  const { rows } = await pool.query<{ kind: string; dueAt: Date }>(
    'select kind, due_at as "dueAt" from es.timer',
  );
  return new Map(rows.map(({ kind, dueAt }) => [kind, dueAt]));
};

describe('the name of a session [S1]', () => {
  const other = (name: string, owner = 'ada') => {
    const data = { ...(create.data as SessionCommands['CreateSession']), name, owner };
    return (id: string) => does(command('CreateSession', { ...data, session_id: id }), id);
  };

  it('is one session, also when many ask for it at once', async () => {
    const ids = Array.from({ length: 12 }, (_, i) => `ses-0000000${i.toString(16)}`);
    const asked = await Promise.allSettled(ids.map((id) => other('one')(id)));
    const refused = asked.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    expect(refused).toHaveLength(11);
    for (const reason of refused) expect(reason).toMatchObject({ code: 'conflict' });
    const recorded = await Promise.all(ids.map((id) => eventsOf(id)));
    expect(recorded.filter((events) => events.length > 0)).toHaveLength(1);
  });

  it('is taken per owner', async () => {
    await other('one', 'ada')('ses-00000001');
    await other('one', 'bob')('ses-00000002');
    await expect(other('one', 'bob')('ses-00000003')).rejects.toMatchObject({
      code: 'conflict',
      message: 'you already have a session called one',
    });
  });

  it('is free again after a rename, and a taken one refuses it', async () => {
    await other('one')('ses-00000001');
    await other('two')('ses-00000002');
    const rename = (name: string) => command('RenameSession', { name, title: 'T' });
    await expect(does(rename('two'), 'ses-00000001')).rejects.toMatchObject({ code: 'conflict' });
    expect(await eventsOf('ses-00000001')).not.toContain('SessionRenamed');
    await does(rename('three'), 'ses-00000001');
    await other('one')('ses-00000003');
    await does(command('RenameSession', { name: 'three', title: 'Other' }), 'ses-00000001');
    await expect(other('three')('ses-00000004')).rejects.toMatchObject({ code: 'conflict' });
  });

  it.each([
    ['archived', command('ArchiveSession', {})],
    ['deleted', command('DeleteSession', { force: true, deleted_by: 'token:t' })],
  ])('is free again once the session is %s', async (_, end) => {
    await other('one')('ses-00000001');
    await does(end, 'ses-00000001');
    await other('one')('ses-00000002');
    await expect(other('one')('ses-00000003')).rejects.toMatchObject({ code: 'conflict' });
  });

  it('does not come back when an archived session is renamed', async () => {
    await other('one')('ses-00000001');
    await does(command('ArchiveSession', {}), 'ses-00000001');
    await does(command('RenameSession', { name: 'old-one', title: 'T' }), 'ses-00000001');
    const { events } = await other('old-one')('ses-00000002');
    expect(events).toContain('SessionCreated');
  });
});

describe('a session that is being suspended [X4]', () => {
  it('lets nobody in, and lets them in again when it is not suspended after all', async () => {
    await story('IDLE, saved');
    await presence.touch(sandboxId(1));
    await does(suspend());
    await expect(presence.touch(sandboxId(1))).rejects.toMatchObject({ code: 'conflict' });
    const skipped = [{ path: 'big.bin', reason: 'file_cap' }];
    await does(record(2, { reason: 'suspend', complete: false, skipped }));
    expect(await eventsOf()).toContain('SuspendAborted');
    await presence.touch(sandboxId(1));
    await presence.hold(sandboxId(1), 60);
  });

  it('leaves the door as it was when the decision was not recorded', async () => {
    await story('IDLE, saved');
    const conflicting = sessions.execute(SESSION_ID, suspend(), {
      meta,
      tx: {
        query: () => Promise.reject(new Error('the database went away')),
        onCommit: () => undefined,
      },
    });
    await expect(conflicting).rejects.toThrow('went away');
    await presence.touch(sandboxId(1));
  });
});

describe('a sandbox that asks whether it may go [X4] [X6]', () => {
  it('stays when somebody came in since it asked, and goes when they have left for long', async () => {
    await story('IDLE, saved');
    const asks = async (minutesOn: number): Promise<boolean | undefined> => {
      const now = new Date(Date.now() + minutesOn * 60_000).toISOString();
      const data = { sandbox_id: sandboxId(1), busy: false };
      const tx = { query: pool.query.bind(pool), onCommit: () => undefined };
      const judged = await withPresence(presence, { type: 'KeepOrSuspend', now, data }, tx);
      return judged.type === 'KeepOrSuspend' ? judged.data.busy : undefined;
    };
    expect(await asks(0)).toBe(false);
    await presence.touch(sandboxId(1));
    expect(await asks(1)).toBe(true);
    expect(await asks(2)).toBe(false);
    await presence.hold(sandboxId(1), 600);
    expect(await asks(5)).toBe(true);
  });
});

describe('the clock of a session', () => {
  const start = (): void => {
    ticker = createSessionTicker({
      pool,
      wake: createLocalWake(),
      sessions,
      presence,
      settings,
      now: clock.now,
      onError: (error) => errors.push(error),
    });
    ticker.start();
  };
  const pass = (minutes: number): void => clock.advance(minutes * 60_000);
  const recorded = (type: string) =>
    eventually(async () => (await eventsOf()).includes(type), { what: type });

  it('fails a start that is late, with the last phase as the reason [S4]', async () => {
    await story('STARTING');
    start();
    pass(14);
    expect(await stateOf()).toBe('STARTING');
    pass(2);
    await recorded('SessionFailed');
    expect((await sessions.load(SESSION_ID)).state?.state_reason).toContain('15 minutes');
  });

  it('suspends what was idle for long enough', async () => {
    settings.checkpointMinutes = SELDOM_MINUTES;
    await story('IDLE, saved');
    start();
    pass(31);
    await recorded('SuspendRequested');
    expect([...(await timersOf()).keys()]).not.toContain('session.idle');
  });

  it('looks again when somebody was at work meanwhile, at the time that may be [X4]', async () => {
    settings.checkpointMinutes = SELDOM_MINUTES;
    await story('IDLE, saved');
    pass(31);
    await pool.query(`insert into es.presence (sandbox_id, last_active_at) values ($1, $2)`, [
      sandboxId(1),
      minute(20),
    ]);
    start();
    await eventually(
      async () =>
        (await timersOf()).get('session.idle')?.getTime() === clock.now().getTime() + 15_000,
    );
    expect(await eventsOf()).not.toContain('SuspendRequested');
    pass(20);
    await recorded('SuspendRequested');
  });

  it('leaves a session with an open terminal alone', async () => {
    settings.checkpointMinutes = SELDOM_MINUTES;
    await story('IDLE, saved');
    await presence.hold(sandboxId(1), 600);
    pass(31);
    start();
    await eventually(
      async () =>
        (await timersOf()).get('session.idle')?.getTime() === clock.now().getTime() + 15_000,
    );
    expect(await eventsOf()).not.toContain('SuspendRequested');
    await presence.hold(sandboxId(1), -1);
    pass(1);
    await recorded('SuspendRequested');
  });

  it('takes a checkpoint at intervals, and again after the next one [C2]', async () => {
    await story('ACTIVE, running');
    start();
    pass(11);
    await recorded('CheckpointDue');
    await does(record(1, { reason: 'interval', turn: 0, taken_at: minute(11) }, 11));
    await eventually(async () => (await timersOf()).get('session.interval') !== undefined);
    pass(11);
    const due = async () => (await eventsOf()).filter((type) => type === 'CheckpointDue').length;
    await eventually(async () => (await due()) === 2);
    expect(errors).toEqual([]);
  });

  it('counts a checkpoint as missed that gave no word [C3]', async () => {
    await story('ACTIVE, ended');
    start();
    pass(16);
    await recorded('CheckpointMissed');
    expect(await stateOf()).toBe('IDLE');
  });

  it('takes a turn for lost that is past its limit and its grace [S2]', async () => {
    await story('ACTIVE, running');
    start();
    pass(60 + 16);
    await recorded('TurnFinished');
    expect(await eventsOf()).toContain('TurnCancelRequested');
  });

  it('does not wait for ever for a sandbox to say that it is gone', async () => {
    await story('SUSPENDING, releasing');
    start();
    pass(RELEASE_DEADLINE_MINUTES + 1);
    await recorded('SessionSuspended');
    expect(await stateOf()).toBe('SUSPENDED');
  });

  it('leaves no timer behind with a session that is over', async () => {
    await story('ACTIVE, running');
    await does(command('DeleteSession', { force: true, deleted_by: 'token:t' }));
    expect([...(await timersOf()).keys()]).toEqual([]);
    expect(errors).toEqual([]);
  });

  it('has a timer for every state that waits on somebody else', async () => {
    await tell(create);
    expect([...(await timersOf()).keys()]).toEqual(['session.start']);
    await tell(attach(1));
    expect([...(await timersOf()).keys()].toSorted()).toEqual(['session.idle', 'session.interval']);
    await tell(suspend());
    expect([...(await timersOf()).keys()]).toEqual(['session.checkpoint']);
  });
});
