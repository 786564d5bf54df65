import { createConnection } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Problem, SessionDocument } from '@hangar/contracts';
import { eventually } from '@hangar/testing';
import { call, newOwner } from '../testing/http.ts';
import { SseReader } from '../testing/sse.ts';
import { ADMIN_TOKEN, startGatewayStack, type GatewayStack } from '../testing/stack.ts';

let stack: GatewayStack;
let other: string;
beforeAll(async () => {
  stack = await startGatewayStack();
  await stack.stopGateway();
  await stack.start({ heartbeatMs: 300 });
  other = await newOwner(stack, 'other');
  for (const token of [ADMIN_TOKEN, other]) {
    await call(stack, 'POST /api/environments', { body: { name: 'plain' }, token });
  }
}, 120_000);
afterAll(() => stack.close(), 60_000);

const create = (name: string, token = ADMIN_TOKEN) =>
  call<SessionDocument>(stack, 'POST /api/sessions?wait=20', {
    body: { name, environment: 'plain', harness: 'fake', message: 'hello' },
    token,
  }).then(({ body }) => body);

describe('GET /api/sessions/{ref}/events', () => {
  it('gives every event of the session once, in order, from any version on', async () => {
    const session = await create('one');
    const reader = await new SseReader().open(stack, '/api/sessions/one/events?last_event_id=0');
    expect(reader.headers.get('content-type')).toContain('text/event-stream');
    await eventually(() => reader.messages.length >= session.version);
    const versions = Array.from({ length: session.version }, (_, i) => String(i + 1));
    expect(reader.messages.map(({ id }) => id)).toEqual(versions);
    expect(reader.messages[0]).toMatchObject({ event: 'SessionCreated', data: { owner: 'admin' } });
    await reader.close();
    const later = await new SseReader().open(stack, `/api/sessions/${session.id}/events`, {
      'last-event-id': String(session.version - 2),
    });
    await call(stack, 'POST /api/sessions/one/keep', { body: { idle_minutes: 7 } });
    await eventually(() => later.messages.length >= 3);
    expect(later.messages.at(-1)?.event).toBe('IdleMinutesChanged');
    expect(later.messages.map(({ id }) => Number(id))).toEqual(
      [-1, 0, 1].map((n) => session.version + n),
    );
    await later.close();
  });

  it('without an id begins now, and says that it is still there', async () => {
    const reader = await new SseReader().open(stack, '/api/sessions/one/events');
    await eventually(() => reader.comments.length >= 2);
    expect(reader.messages).toEqual([]);
    await reader.close();
  });

  it('refuses an id of another stream', async () => {
    const wrong = await call<Problem>(stack, 'GET /api/sessions/one/events?last_event_id=1-2');
    expect({ status: wrong.status, code: wrong.body.code }).toEqual({
      status: 400,
      code: 'invalid',
    });
  });
});

describe('GET /api/events', () => {
  it('gives the events of the owner and of nobody else [Z1]', async () => {
    const mine = await new SseReader().open(stack, '/api/events');
    const theirs = await new SseReader().open(stack, '/api/events', {}, other);
    const own = await create('two');
    const foreign = await create('two', other);
    await eventually(() => mine.events.some(({ type }) => type === 'SessionIdled'));
    await eventually(() => theirs.events.some(({ type }) => type === 'SessionIdled'));
    const sessions = (reader: SseReader): unknown[] => [
      ...new Set(reader.events.map(({ session_id }) => session_id)),
    ];
    expect(sessions(mine)).toEqual([own.id]);
    expect(sessions(theirs)).toEqual([foreign.id]);
    // Those of its sandbox, run and checkpoint are its own as well.
    expect(new Set(mine.events.map(({ stream }) => stream.split('/')[0]))).toEqual(
      new Set(['session', 'sandbox', 'run', 'checkpoint']),
    );
    await Promise.all([mine.close(), theirs.close()]);
  });

  it('goes on without a gap or a repeat across a restart of the gateway', async () => {
    const seen: string[] = [];
    const follow = async (lastId: string): Promise<SseReader> =>
      new SseReader().open(stack, '/api/events', { 'last-event-id': lastId });
    let reader = await follow('0');
    await eventually(() => reader.messages.length > 10);
    const names = ['a', 'b', 'c'].map((letter) => `restart-${letter}`);
    for (const name of names) {
      const made = create(name).catch(() => undefined);
      await eventually(() => reader.events.some(({ data }) => data['name'] === name));
      // Cut in the middle of what is going on, at whatever place it was.
      const ended = reader.ended;
      await made;
      await stack.stopGateway();
      await ended;
      seen.push(...reader.messages.map(({ id }) => id));
      await stack.start();
      reader = await follow(reader.lastId);
    }
    await call(stack, 'POST /api/sessions/one/keep', { body: { idle_minutes: 9 } });
    await eventually(() => reader.events.at(-1)?.data['idle_minutes'] === 9);
    seen.push(...reader.messages.map(({ id }) => id));
    await reader.close();
    const rows = await stack.log.pool.query<{ id: string }>(
      `select e.fence::text || '-' || e.position::text as id from es.event e
       left join es.event c on c.version = 1 and c.stream_id = 'session/ses-' ||
         case when e.stream_id like 'session/%' then substr(e.stream_id, 13, 8)
           else split_part(e.stream_id, '-', 2) end
       where coalesce(e.data ->> 'owner', c.data ->> 'owner') = 'admin'
       order by e.fence, e.position`,
    );
    expect(seen).toEqual(rows.rows.map(({ id }) => id));
  });

  it('tells a place also when nothing there was for the reader', async () => {
    const reader = await new SseReader().open(stack, '/api/events', {}, other);
    await create('three');
    await eventually(() => reader.lastId !== '');
    const head = await stack.log.store([]).head();
    await eventually(() => reader.lastId === `${head.fence}-${head.position}`);
    expect(reader.messages).toEqual([]);
    await reader.close();
  });

  it('ends when the token is revoked [Z1]', async () => {
    const token = await newOwner(stack, 'leaver', 'read');
    const reader = await new SseReader().open(stack, '/api/events', {}, token);
    const listed = await call<{ items: { id: string; owner: string }[] }>(stack, 'GET /api/tokens');
    const { id } = listed.body.items.find(({ owner }) => owner === 'leaver')!;
    expect((await call(stack, `DELETE /api/tokens/${id}`)).status).toBe(204);
    await reader.ended;
    expect((await call(stack, 'GET /api/sessions', { token })).status).toBe(401);
  });

  it('lets a client go that takes nothing, and holds little for it meanwhile', async () => {
    await stack.stopGateway();
    await stack.start({ slowClientMsMax: 500 });
    const text = 'x'.repeat(250_000);
    await create('large');
    stack.spokes.held.add('TurnRequested');
    for (let n = 0; n < 24; n += 1) {
      await call(stack, 'POST /api/sessions/large/send', {
        body: { message: text, mode: 'queue' },
      });
    }
    const { hostname, port } = new URL(stack.url);
    const socket = createConnection({ host: hostname, port: Number(port) });
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(
      'GET /api/events?last_event_id=0 HTTP/1.1\r\nHost: x\r\n' +
        `Authorization: Bearer ${ADMIN_TOKEN}\r\n\r\n`,
    );
    const server = stack.app.getHttpServer() as import('node:http').Server;
    const connections = (): Promise<number> =>
      new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
    await eventually(async () => (await connections()) >= 1);
    await eventually(async () => (await connections()) === 0, { withinMs: 20_000 });
    // Of the six megabytes only what fits into the socket's own buffers has left.
    expect(socket.bytesRead).toBeLessThan(2 * 1024 * 1024);
    socket.destroy();
    await closed;
    stack.spokes.held.clear();
  });
});
