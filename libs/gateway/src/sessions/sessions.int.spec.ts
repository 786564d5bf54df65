import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type {
  MessageReceipt,
  Page,
  Problem,
  SessionDocument,
  SessionOutcome,
  SessionSummary,
} from '@hangar/contracts';
import { eventually } from '@hangar/testing';
import { call, newOwner, type CallOptions } from '../testing/http.ts';
import { startGatewayStack, type GatewayStack } from '../testing/stack.ts';

let stack: GatewayStack;
let other: string;
beforeAll(async () => {
  stack = await startGatewayStack();
  other = await newOwner(stack, 'other');
  await call(stack, 'POST /api/environments', { body: { name: 'plain' } });
}, 120_000);
afterAll(() => stack.close(), 60_000);
afterEach(() => {
  stack.spokes.held.clear();
  if (stack.errors.length > 0) throw new AggregateError(stack.errors, 'the gateway told of errors');
});

const create = (name: string, more: object = {}, query = '', options: CallOptions = {}) =>
  call<SessionOutcome & Problem>(stack, `POST /api/sessions${query}`, {
    body: { name, environment: 'plain', harness: 'fake', ...more },
    ...options,
  });
const post = <T = SessionOutcome & Problem>(at: string, options: CallOptions = {}) =>
  call<T>(stack, `POST /api/sessions/${at}`, options);
const get = (ref: string) =>
  call<SessionDocument & Problem>(stack, `GET /api/sessions/${ref}`).then(({ body }) => body);

describe('POST /api/sessions', () => {
  it('answers 201 with the whole document, before anything has started', async () => {
    stack.spokes.held.add('SandboxRequested');
    const made = await create('first', { message: 'hello', repo: 'https://example.org/a/app.git' });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      name: 'first',
      owner: 'admin',
      state: 'STARTING',
      start_phase: 'requested',
      branch: 'hangar/session/first',
      cwd: '/workspace/app',
      conversation: 'none',
      forked_from: null,
      turns: [],
      checkpoints: [],
      limits: { idle_minutes: 30, turn_minutes: 60, messages_queued: 32 },
    });
    expect(made.body.queue).toMatchObject([{ text: 'hello', mode: 'auto' }]);
    await stack.spokes.release('SandboxRequested');
  });

  it('with ?wait answers when the turn is finished and its checkpoint settled', async () => {
    const made = await create('second', { message: 'hello' }, '?wait=20');
    expect({ status: made.status, waited: made.body.waited }).toEqual({
      status: 200,
      waited: true,
    });
    expect(made.body.state).toBe('IDLE');
    expect(made.body.turns[0]).toMatchObject({ outcome: 'succeeded', summary: 'did turn 1' });
    expect(made.body.turns[0]?.checkpoint_id).toBe(made.body.checkpoints[0]?.id);
    expect((await get('second')).id).toBe(made.body.id);
    expect((await get(made.body.id)).name).toBe('second');
  });

  it('says so when the time ran out', async () => {
    stack.spokes.held.add('SandboxRequested');
    const made = await create('slow', {}, '?wait=1');
    expect({ status: made.status, waited: made.body.waited }).toEqual({
      status: 202,
      waited: false,
    });
    await stack.spokes.release('SandboxRequested');
  });

  it('refuses a name that is taken, with a hint; another owner may have it', async () => {
    const again = await create('second');
    expect(again.status).toBe(409);
    expect(again.headers.get('content-type')).toContain('application/problem+json');
    expect(again.body).toMatchObject({ code: 'conflict', hint: expect.stringContaining('name') });
    await call(stack, 'POST /api/environments', { body: { name: 'plain' }, token: other });
    expect((await create('second', {}, '', { token: other })).status).toBe(201);
  });

  it.each([
    ['an unknown key', { colour: 'red' }, 'colour'],
    ['a harness that is not here', { harness: 'nobody' }, 'Use one of: claude-code, codex, pi.'],
    ['credentials in a URL', { repo: 'https://me:pw@example.org/a.git' }, 'secret'],
    ['a name with capitals', { name: 'Refused' }, 'lower-case letters'],
    ['a name like an id', { name: 'ses-00000000' }, 'session id'],
  ])('refuses %s', async (_, more, word) => {
    const made = await create('refused', more);
    expect(made.status).toBe(400);
    expect(`${made.body.detail} ${made.body.hint}`).toContain(word);
  });

  it('refuses an environment that is not yours', async () => {
    expect((await create('nowhere', { environment: 'missing' })).status).toBe(404);
  });
});

describe('Idempotency-Key [M2]', () => {
  const headers = { 'idempotency-key': 'create-1' };

  it('gives the same answer again, in parallel and after a restart', async () => {
    const twins = await Promise.all(
      Array.from({ length: 5 }, () => create('keyed', { message: 'once' }, '', { headers })),
    );
    expect(twins.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    for (const twin of twins) expect(twin.body).toEqual(twins[0]?.body);
    await stack.stopGateway();
    await stack.start();
    const late = await create('keyed', { message: 'once' }, '', { headers });
    expect(late.body).toEqual(twins[0]?.body);
    const done = await create('keyed', { message: 'once' }, '?wait=20', { headers });
    expect(done.body.turns.map(({ message }) => message)).toEqual(['once']);
  });

  it('refuses the key for another body, and a key that is too long', async () => {
    const reused = await create('keyed', { message: 'twice' }, '', { headers });
    expect(reused.status).toBe(409);
    expect(reused.body.hint).toContain('new key');
    const long = { 'idempotency-key': 'x'.repeat(201) };
    expect((await create('long', {}, '', { headers: long })).status).toBe(400);
  });

  it('makes nothing twice when the answer was lost in a crash', async () => {
    const before = await get('keyed');
    await stack.log.pool.query(
      "update gateway.idempotency_key set answer = null where key = 'create-1'",
    );
    const again = await create('keyed', { message: 'once' }, '', { headers });
    expect({ status: again.status, id: again.body.id }).toEqual({ status: 201, id: before.id });
    expect(again.body.version).toBe(before.version);
  });

  it('is forgotten after 7 days', async () => {
    const old = { 'idempotency-key': 'old-key' };
    const keep = async (name: string) => (await create(name, {}, '', { headers: old })).status;
    expect([await keep('aged'), await keep('aged-2')]).toEqual([201, 409]);
    await stack.log.pool.query(
      `update gateway.idempotency_key set at = now() - interval '7 days 1 minute'
       where key = 'old-key'`,
    );
    expect(await keep('aged-2')).toBe(201);
  });

  it('makes something new once it is forgotten, and not what another installation made', async () => {
    const old = { 'idempotency-key': 'send-old' };
    const body = { message: 'said again' };
    const send = async () =>
      (await post<MessageReceipt>('keyed/send', { body, headers: old })).body.message_id;
    const first = await send();
    expect(await send()).toBe(first);
    await stack.log.pool.query("delete from gateway.idempotency_key where key = 'send-old'");
    expect(await send()).not.toBe(first);
  });

  it('is each owner’s own', async () => {
    expect((await create('keyed', { title: 'Mine' }, '', { headers, token: other })).status).toBe(
      201,
    );
  });

  it('sends a message once', async () => {
    const key = { 'idempotency-key': 'send-1' };
    const body = { message: 'only once' };
    const twins = await Promise.all(
      Array.from({ length: 4 }, () => post<MessageReceipt>('keyed/send', { body, headers: key })),
    );
    expect(new Set(twins.map((twin) => twin.body.message_id)).size).toBe(1);
    const done = await post('keyed/send?wait=20', { body, headers: key });
    expect(done.status).toBe(200);
    expect(done.body.turns.filter(({ message }) => message === 'only once')).toHaveLength(1);
  });
});

describe('messages', () => {
  it('queue while a turn runs, are taken back by id, and run in order', async () => {
    await create('queue', { harness: 'pi' }, '?wait=20');
    stack.spokes.held.add('RunFinished');
    await post('queue/send', { body: { message: 'one' } });
    const second = await post<MessageReceipt>('queue/send', { body: { message: 'two' } });
    expect(second.status).toBe(202);
    expect(second.body).toMatchObject({ status: 'queued', becomes: 'queue' });
    const third = await post<MessageReceipt>('queue/send', { body: { message: 'three' } });
    const back = await call<MessageReceipt>(
      stack,
      `DELETE /api/sessions/queue/queue/${second.body.message_id}`,
    );
    expect({ status: back.status, body: back.body }).toMatchObject({
      status: 200,
      body: { status: 'taken_back', becomes: null },
    });
    expect((await get('queue')).queue.map(({ text }) => text)).toContain('three');
    stack.spokes.held.delete('RunFinished');
    const waited = post('queue/send?wait=20', { body: { message: 'four' } });
    await stack.spokes.release('RunFinished');
    const done = await waited;
    expect(done.body.turns.map(({ message }) => message)).toEqual(['one', 'three', 'four']);
    const late = await call<Problem>(
      stack,
      `DELETE /api/sessions/queue/queue/${third.body.message_id}`,
    );
    expect(late.status).toBe(409);
  });

  it('above 32 are refused with 429', async () => {
    stack.spokes.held.add('SandboxRequested');
    await create('full');
    for (let n = 0; n < 32; n += 1) await post('full/send', { body: { message: `${n}` } });
    const over = await post('full/send', { body: { message: 'more' } });
    expect({ status: over.status, code: over.body.code }).toEqual({
      status: 429,
      code: 'exhausted',
    });
  });

  it('resume a suspended session by themselves', async () => {
    await create('sleeper', { message: 'a' }, '?wait=20');
    const asleep = await post('sleeper/suspend?wait=20');
    expect(asleep.body).toMatchObject({ state: 'SUSPENDED', sandbox_id: null, waited: true });
    const woken = await post('sleeper/send?wait=20', { body: { message: 'b' } });
    expect(woken.body).toMatchObject({ state: 'IDLE', waited: true, conversation: 'native' });
    expect(woken.body.continuity?.ignored).toEqual({ state: 'lost', detail: 'not asked for' });
    expect(woken.body.turns.map(({ message }) => message)).toEqual(['a', 'b']);
  });

  it('refuse a mode that is not known, and say which are', async () => {
    const sent = await post('sleeper/send', { body: { message: 'x', mode: 'shout' } });
    expect(sent.status).toBe(400);
    expect(sent.body.detail).toContain('auto, steer, queue, interrupt');
  });
});

describe('turns', () => {
  it('interrupt ends the running turn and keeps the queue [M8]', async () => {
    await create('stop', {}, '?wait=20');
    stack.spokes.held.add('RunFinished');
    await post('stop/send', { body: { message: 'long' } });
    const ended = await post('stop/interrupt?wait=20');
    expect(ended.body.waited).toBe(true);
    expect(ended.body.turns.at(-1)?.outcome).toBe('cancelled');
    expect((await post('stop/interrupt')).status).toBe(409);
  });

  it('retry runs an interrupted message again [S3]', async () => {
    const made = await create('cut', {}, '?wait=20');
    stack.spokes.held.add('RunFinished');
    await post('cut/send', { body: { message: 'work' } });
    await eventually(async () => (await get('cut')).queue.length === 0);
    await stack.spokes.loseRun(made.body.id, 1);
    const cut = await post('cut/send?wait=20', { body: { message: 'later' } });
    expect(cut.body.state).toBe('INTERRUPTED');
    expect(cut.body.attention.map(({ kind }) => kind)).toContain('interrupted');
    stack.spokes.held.clear();
    const again = await post('cut/retry?wait=20');
    expect(again.body.waited).toBe(true);
    expect(again.body.turns.slice(0, 2).map(({ message }) => message)).toEqual(['work', 'work']);
  });
});

describe('other calls', () => {
  it('keep, rename, archive; the name is free again afterwards [S7]', async () => {
    const made = await create('old-name', {}, '?wait=20');
    const kept = await post('old-name/keep', { body: { idle_minutes: 0 } });
    expect(kept.body.idle_minutes).toBe(0);
    const renamed = await post('old-name/rename', { body: { name: 'new-name' } });
    expect(renamed.body).toMatchObject({ name: 'new-name', branch: 'hangar/session/old-name' });
    expect((await call(stack, 'GET /api/sessions/old-name')).status).toBe(404);
    const archived = await post('new-name/archive');
    expect(archived.body).toMatchObject({ state: 'ARCHIVED', checkpoints: [] });
    expect((await get('new-name')).id).toBe(made.body.id);
    expect((await post('new-name/send', { body: { message: 'x' } })).status).toBe(409);
    expect((await create('new-name')).status).toBe(201);
  });

  it('another harness or model is shown, and is one that may run there [H3]', async () => {
    const put = (ref: string, body: object, options: CallOptions = {}) =>
      call<SessionDocument & Problem>(stack, `PUT /api/sessions/${ref}/harness`, {
        body,
        ...options,
      });
    await create('changed', { model: 'm1' }, '?wait=20');
    expect((await put('changed', { harness: 'pi' })).body).toMatchObject({
      harness: 'pi',
      model: null,
    });
    expect((await put('changed', { model: 'm2' })).body).toMatchObject({
      harness: 'pi',
      model: 'm2',
    });
    const unknown = await put('changed', { harness: 'nobody' });
    expect({ status: unknown.status, hint: unknown.body.hint }).toEqual({
      status: 400,
      hint: 'Use one of: claude-code, codex, pi.',
    });
    expect((await put('changed', {})).status).toBe(400);
    expect((await put('changed', { harness: 'codex' }, { token: other })).status).toBe(404);
    expect((await get('changed')).harness).toBe('pi');
  });

  it('delete removes it from every answer', async () => {
    await create('gone', { message: 'x' }, '?wait=20');
    expect((await call(stack, 'DELETE /api/sessions/gone')).status).toBe(204);
    const after = await call<Problem>(stack, 'GET /api/sessions/gone');
    expect(after.body).toMatchObject({ status: 404, code: 'not_found', hint: expect.any(String) });
  });

  it('open waits, and opening what is open changes nothing [R6]', async () => {
    const opened = await post('sleeper/open?wait=20');
    expect(opened.body).toMatchObject({ state: 'IDLE', waited: true });
    const { version } = opened.body;
    await Promise.all([post('sleeper/open'), post('sleeper/open'), post('sleeper/open')]);
    expect((await get('sleeper')).version).toBe(version);
  });

  it('lists newest first, by pages and filters, without a change by reading [S5]', async () => {
    const list = (query: string) =>
      call<Page<SessionSummary> & Problem>(stack, `GET /api/sessions${query}`);
    const all: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Page<SessionSummary> = (
        await list(`?limit=3${cursor ? `&cursor=${cursor}` : ''}`)
      ).body;
      all.push(...page.items.map(({ id }) => id));
      cursor = page.next_cursor;
    } while (cursor);
    expect(new Set(all).size).toBe(all.length);
    expect((await list('?limit=200')).body.items.map(({ id }) => id)).toEqual(all);
    const archived = await list('?state=ARCHIVED');
    expect(archived.body.items.every(({ state }) => state === 'ARCHIVED')).toBe(true);
    expect((await list('?q=sleep')).body.items.map(({ name }) => name)).toEqual(['sleeper']);
    expect((await list('?q=%25')).body.items).toEqual([]);
    const sleeper = (await list('?q=sleeper')).body.items[0];
    expect(sleeper).toMatchObject({ turn_count: 2, last_summary: 'did turn 2', queue_count: 0 });
    const wrong = await list('?colour=red');
    expect(wrong.status).toBe(400);
    expect(wrong.body.hint).toContain('environment');
    expect((await list('?cursor=nonsense')).status).toBe(400);
  });

  it('shows another owner nothing: not found, not forbidden [Z1]', async () => {
    const { id } = await get('sleeper');
    for (const at of [
      `GET /api/sessions/${id}`,
      `POST /api/sessions/${id}/open`,
      `DELETE /api/sessions/${id}`,
      `GET /api/sessions/${id}/checkpoints`,
      `GET /api/sessions/${id}/changes`,
      `GET /api/sessions/${id}/events`,
      `GET /api/sessions/${id}/activity`,
      `GET /api/sessions/${id}/activity/live`,
      `GET /api/sessions/${id}/decisions`,
      `GET /api/audit?session=${id}`,
      `GET /api/audit/verify?session=${id}`,
      `GET /api/audit/replay?session=${id}`,
    ]) {
      const answer = await call<Problem>(stack, at, { token: other });
      expect({ at, status: answer.status }).toEqual({ at, status: 404 });
    }
    const listed = await call<Page<SessionSummary>>(stack, 'GET /api/sessions', { token: other });
    expect(listed.body.items.every(({ owner }) => owner === 'other')).toBe(true);
  });
});
