import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type {
  Changes,
  EventDocument,
  ExecResult,
  Page,
  Problem,
  SessionDocument,
  VerifyDocument,
} from '@hangar/contracts';
import type { ExecRequest } from '@hangar/sandbox-drivers';
import { eventually } from '@hangar/testing';
import { openDataSource } from '../storage/data-source.ts';
import { call, newOwner } from '../testing/http.ts';
import { execStream, startGatewayStack, type GatewayStack } from '../testing/stack.ts';
import { rebuildViews } from '../views/view-projector.ts';

let stack: GatewayStack;
let other: string;
let session: SessionDocument;
beforeAll(async () => {
  stack = await startGatewayStack();
  other = await newOwner(stack, 'other');
  for (const token of [undefined, other]) {
    const options = token ? { token } : {};
    await call(stack, 'POST /api/environments', { body: { name: 'plain' }, ...options });
    const made = await call<SessionDocument>(stack, 'POST /api/sessions?wait=20', {
      body: { name: 'story', environment: 'plain', harness: 'fake', message: 'hello' },
      ...options,
    });
    if (!token) session = made.body;
  }
}, 120_000);
afterAll(() => stack.close(), 60_000);

type Events = Page<EventDocument> & Problem;
const audit = (query: string, token?: string) =>
  call<Events>(stack, `GET /api/audit?${query}`, token ? { token } : {});

describe('GET /api/audit [L1]', () => {
  it('lists a session with its sandbox, run and checkpoint, by pages, each once', async () => {
    const seen: EventDocument[] = [];
    let cursor: string | null = null;
    do {
      const page: Events = (
        await audit(`session=story&limit=4${cursor ? `&cursor=${cursor}` : ''}`)
      ).body;
      seen.push(...page.items);
      cursor = page.next_cursor;
    } while (cursor);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
    expect(new Set(seen.map(({ stream }) => stream.split('/')[0]))).toEqual(
      new Set(['session', 'sandbox', 'run', 'checkpoint']),
    );
    expect(
      seen.every(({ session_id, owner }) => session_id === session.id && owner === 'admin'),
    ).toBe(true);
    const created = seen.find(({ type }) => type === 'SessionCreated');
    expect(created?.actor).toMatch(/^token:tok-/);
    // All that followed from the one call carries its correlation id.
    expect(new Set(seen.map(({ correlation }) => correlation)).size).toBe(1);
    const back = (await audit('session=story&order=desc&limit=200')).body.items;
    expect(back.map(({ id }) => id)).toEqual(seen.map(({ id }) => id).toReversed());
  });

  it('filters by type, actor and time', async () => {
    const finished = await audit('type=TurnFinished');
    expect(finished.body.items.map(({ type }) => type)).toEqual(['TurnFinished']);
    const byService = await audit('session=story&actor=service:sessions&limit=200');
    expect(byService.body.items.every(({ actor }) => actor === 'service:sessions')).toBe(true);
    const { at } = finished.body.items[0]!;
    const before = (await audit(`session=story&until=${at}&limit=200`)).body.items;
    const after = (await audit(`session=story&since=${at}&limit=200`)).body.items;
    expect(before.length).toBeGreaterThan(0);
    expect(before.every((event) => event.at < at)).toBe(true);
    expect(after.some(({ type }) => type === 'TurnFinished')).toBe(true);
  });

  it('shows own events; those of others to an admin who asks', async () => {
    const own = (await audit('limit=200', other)).body.items;
    expect(new Set(own.map(({ owner }) => owner))).toEqual(new Set(['other']));
    expect((await audit('owner=*', other)).status).toBe(403);
    const theirs = (await audit('owner=other&limit=200')).body.items;
    expect(theirs.map(({ id }) => id)).toEqual(own.map(({ id }) => id));
    const all = (await audit('owner=*&limit=200')).body.items;
    expect(new Set(all.map(({ owner }) => owner))).toEqual(new Set(['admin', 'other']));
  });

  it('exports one event a line', async () => {
    const { body, headers } = await call<{ text: string }>(
      stack,
      'GET /api/audit?session=story&format=jsonl',
    );
    expect(headers.get('content-type')).toContain('application/jsonl');
    const lines = body.text.trimEnd().split('\n');
    const listed = (await audit('session=story&limit=200')).body.items;
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual(listed);
  });

  it('replays a session as it was at any version, and as it is', async () => {
    const replay = (version: number) =>
      call<SessionDocument & Problem>(
        stack,
        `GET /api/audit/replay?session=story&version=${version}`,
      );
    const current = (await call<SessionDocument>(stack, 'GET /api/sessions/story')).body;
    expect((await replay(current.version)).body).toEqual(current);
    const first = (await replay(1)).body;
    expect(first).toMatchObject({ version: 1, turns: [], checkpoints: [] });
    const states: string[] = [];
    for (let version = 1; version <= current.version; version += 1) {
      states.push((await replay(version)).body.state);
    }
    expect([...new Set(states)]).toEqual(['SUSPENDED', 'STARTING', 'IDLE', 'ACTIVE']);
    expect((await replay(current.version + 1)).status).toBe(400);
  });
});

describe('the read models', () => {
  const tables = [
    'session_view',
    'turn_view',
    'checkpoint_view',
    'message_view',
    'card_view',
    'environment_view',
  ];
  const dump = async (): Promise<Record<string, unknown[]>> => {
    const found: Record<string, unknown[]> = {};
    for (const table of tables) {
      const { rows } = await stack.log.pool.query(`select * from view.${table} t order by t::text`);
      found[table] = rows as unknown[];
    }
    return found;
  };

  it('rebuilt from the log are what is there now, while calls go on [L1]', async () => {
    await call(stack, 'POST /api/sessions/story/suspend?wait=20');
    await call(stack, 'POST /api/sessions', {
      body: { name: 'gone', environment: 'plain', harness: 'fake' },
    });
    await call(stack, 'DELETE /api/sessions/gone');
    const settled = async (): Promise<boolean> => {
      const one = JSON.stringify(await dump());
      await stack.log.pool.query('select pg_sleep(0.2)');
      return JSON.stringify(await dump()) === one;
    };
    await eventually(settled);
    const before = await dump();
    await stack.log.pool.query("update view.session_view set title = 'drifted'");
    await rebuildViews({ pool: stack.log.pool, wake: stack.log.wake });
    expect(await dump()).toEqual(before);
    expect(before['session_view']).toHaveLength(3);
    const kept = await call<SessionDocument>(stack, 'POST /api/sessions/story/keep', {
      body: { idle_minutes: 3 },
    });
    expect(kept.body).toMatchObject({ idle_minutes: 3, title: 'story' });
    expect(stack.errors).toEqual([]);
  });

  it('have the tables that the entities describe', async () => {
    const source = await openDataSource(stack.log.pool);
    try {
      const differences = async (): Promise<string[]> =>
        (await source.driver.createSchemaBuilder().log()).upQueries.map(({ query }) => query);
      expect(await differences()).toEqual([]);
      await stack.log.pool.query('alter table view.card_view add column extra text');
      expect(await differences()).toEqual([expect.stringContaining('extra')]);
      await stack.log.pool.query('alter table view.card_view drop column extra');
    } finally {
      await source.destroy();
    }
  });

  it('are followed by several replicas, which all show own writes at once', async () => {
    const replica = await stack.another();
    try {
      for (let n = 1; n <= 10; n += 1) {
        const [one, two] = n % 2 ? [stack.url, replica.url!] : [replica.url!, stack.url];
        await call({ url: one }, 'POST /api/sessions/story/keep', { body: { idle_minutes: n } });
        const seen = await call<SessionDocument>({ url: one }, 'GET /api/sessions/story');
        expect(seen.body.idle_minutes).toBe(n);
        const there = await call<SessionDocument>({ url: two }, 'GET /api/sessions/story');
        expect(there.body.idle_minutes).toBe(n);
      }
    } finally {
      await replica.close();
    }
    expect(stack.errors).toEqual([]);
  });
});

describe('what is read from sandboxes and checkpoints', () => {
  it('checkpoints are listed and exported as a stream', async () => {
    const listed = await call<{ items: { id: string }[] }>(
      stack,
      'GET /api/sessions/story/checkpoints',
    );
    const { id } = listed.body.items.at(-1)!;
    const at = `GET /api/sessions/story/checkpoints/${id}/export`;
    const tar = await call<{ text: string }>(stack, at);
    expect(tar.headers.get('content-type')).toBe('application/x-tar');
    expect(tar.body.text).toBe('tar bytes');
    expect((await call(stack, at, { token: other })).status).toBe(404);
    stack.export = () => Promise.resolve(null);
    expect((await call(stack, at)).status).toBe(404);
    stack.export = () => Promise.resolve(Readable.from(brokenTar()));
    await expect(call(stack, at)).rejects.toThrow('terminated');
  });

  it('changes come from the sandbox if there is one, else from the newest checkpoint', async () => {
    const changes = (query = '') =>
      call<Changes & Problem>(stack, `GET /api/sessions/story/changes${query}`);
    expect((await changes()).body.source).toBe('checkpoint');
    await call(stack, 'POST /api/sessions/story/open?wait=20');
    expect((await changes()).body.source).toBe('sandbox');
    const [kept] = session.checkpoints;
    expect((await changes(`?checkpoint=${kept!.id}`)).body.source).toBe('checkpoint');
    expect((await changes('?checkpoint=ckp-00000000-1')).status).toBe(404);
  });

  it('a checkpoint is taken on demand', async () => {
    const taken = await call<SessionDocument>(
      stack,
      'POST /api/sessions/story/checkpoints?wait=20',
    );
    expect(taken.status).toBe(200);
    expect(taken.body.checkpoints.at(-1)).toMatchObject({ reason: 'manual', complete: true });
  });

  it('exec gives the end and the output of a command as it was', async () => {
    let asked: ExecRequest | undefined;
    const run = (answer: Parameters<typeof execStream>[0], body: object = {}) => {
      stack.exec = (request) => {
        asked = request;
        return execStream(answer);
      };
      return call<ExecResult & Problem>(stack, 'POST /api/sessions/story/exec', {
        body: { argv: ['cat'], ...body },
      });
    };
    const plain = await run({ stdout: 'ü\n', exit: { kind: 'exited', code: 3 } }, { stdin: 'in' });
    expect(plain.body).toEqual({
      exit_code: 3,
      stdout: 'ü\n',
      stdout_truncated: false,
      stderr: '',
      stderr_truncated: false,
    });
    expect(asked).toMatchObject({ cwd: '/workspace/story', timeoutMs: 60_000 });
    const bytes = Buffer.from([0, 255, 254]);
    const binary = await run({ stdout: bytes, exit: { kind: 'timed_out' } });
    expect(binary.body).toMatchObject({ timed_out: true, stdout_base64: bytes.toString('base64') });
    const large = await run({ stdout: 'é'.repeat(2 * 1024 * 1024 + 1) });
    expect(large.body.stdout_truncated).toBe(true);
    expect(large.body.stdout).toHaveLength(2 * 1024 * 1024);
    expect((await run({ exit: { kind: 'not_started', error: 'no such file' } })).status).toBe(400);
    expect((await run({ exit: { kind: 'connection_lost' } })).status).toBe(503);
    expect((await run({ exit: { kind: 'sandbox_gone' } })).status).toBe(409);
    const stdin = { stdin: 'x'.repeat(3 * 1024 * 1024) };
    expect((await run({ exit: { kind: 'signalled', signal: 'SIGKILL' } }, stdin)).body.signal).toBe(
      'SIGKILL',
    );
    expect((await run({}, { stdin: 'a', stdin_base64: 'YQ==' })).status).toBe(400);
  });

  it('exec in a session without a sandbox says what to do', async () => {
    await call(stack, 'POST /api/sessions/story/suspend?wait=20');
    const refused = await call<Problem>(stack, 'POST /api/sessions/story/exec', {
      body: { argv: ['true'] },
    });
    expect({ status: refused.status, hint: refused.body.hint }).toEqual({
      status: 409,
      hint: expect.stringContaining('Open it'),
    });
  });
});

describe('a database that cut every connection [O2]', () => {
  it('is no fault of the program, and all goes on when it is back', async () => {
    const answers: number[] = [];
    const ask = async (at: string, body?: object): Promise<number> => {
      const { status } = await call(stack, at, body ? { body } : {});
      answers.push(status);
      return status;
    };
    for (let round = 1; round <= 5; round += 1) {
      const value = `value ${round}`;
      const asked = [
        ask('GET /api/sessions/story'),
        ask('POST /api/secrets', { name: 'CUT', value }),
        ask('GET /api/sessions'),
        ask('GET /api/audit?session=story'),
      ];
      await stack.stack.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()`,
      );
      await Promise.all(asked);
      const body = { idle_minutes: 200 + round };
      const kept = () => call<SessionDocument>(stack, 'POST /api/sessions/story/keep', { body });
      await eventually(async () => (await kept()).status === 200);
      const seen = await call<SessionDocument>(stack, 'GET /api/sessions/story');
      expect(seen.body.idle_minutes).toBe(200 + round);
    }
    expect(answers.filter((status) => ![200, 201, 503].includes(status))).toEqual([]);
  });
});

describe('GET /api/audit/verify [L1]', () => {
  const verify = (query = '', token?: string) =>
    call<VerifyDocument>(stack, `GET /api/audit/verify${query}`, token ? { token } : {});

  it('finds a changed row, for its owner and in the whole log', async () => {
    expect((await verify('?session=story')).body).toEqual({ ok: true, problems: [] });
    expect((await verify()).body.ok).toBe(true);
    expect((await verify('', other)).status).toBe(403);
    await stack.log.pool.query(
      `begin; set local es.maintenance = 'on';
       update es.event set data = '{"idle_minutes": 1}' where stream_id = 'session/${session.id}'
         and type = 'IdleMinutesChanged' and version = (select min(version) from es.event
           where stream_id = 'session/${session.id}' and type = 'IdleMinutesChanged');
       commit`,
    );
    const found = (await verify('?session=story')).body;
    expect(found.ok).toBe(false);
    expect(found.problems[0]).toMatchObject({
      stream: `session/${session.id}`,
      problem: 'changed',
    });
    expect((await verify('?session=story', other)).body.ok).toBe(true);
  });
});

async function* brokenTar(): AsyncGenerator<Buffer> {
  yield Buffer.alloc(100_000);
  await Promise.resolve();
  throw new Error('the part does not open');
}
