import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  TERMINAL_MESSAGE_BYTES_MAX,
  TERMINAL_PROTOCOL,
  TERMINAL_UNACKED_BYTES_MAX,
  type Page,
  type Problem,
  type SessionDocument,
  type TerminalDocument,
} from '@hangar/contracts';
import type { FakeTerminal } from '@hangar/sandbox-drivers/fake';
import { eventually } from '@hangar/testing';
import WebSocket from 'ws';
import { call, newOwner } from '../testing/http.ts';
import { ADMIN_TOKEN, startGatewayStack, type GatewayStack } from '../testing/stack.ts';

let stack: GatewayStack;
beforeAll(async () => {
  stack = await startGatewayStack();
  await call(stack, 'POST /api/environments', { body: { name: 'plain' } });
  await create('work');
}, 120_000);
afterAll(() => stack.close(), 60_000);
afterEach(() => {
  if (stack.errors.length > 0) throw new AggregateError(stack.errors, 'the gateway told of errors');
});

const create = (name: string, more: object = {}) =>
  call<SessionDocument>(stack, 'POST /api/sessions?wait=20', {
    body: { name, environment: 'plain', harness: 'fake', ...more },
  });
const post = <T = TerminalDocument & Problem>(at: string, body: object = {}, more: object = {}) =>
  call<T>(stack, `POST /api/sessions/${at}`, { body, ...more });
const list = async (ref: string): Promise<TerminalDocument[]> =>
  (await call<Page<TerminalDocument>>(stack, `GET /api/sessions/${ref}/terminals`)).body.items;
const get = async (ref: string): Promise<SessionDocument> =>
  (await call<SessionDocument>(stack, `GET /api/sessions/${ref}`)).body;

interface Viewer {
  socket: WebSocket;
  frames: { type: string; [name: string]: unknown }[];
  text: () => string;
  bytes: () => number;
  ask: (request: object) => void;
  closed: Promise<number>;
}

function view(
  id: string,
  options: {
    ref?: string;
    query?: string;
    token?: string | null;
    headers?: object;
    url?: string;
    protocols?: string[];
    autoPong?: boolean;
  } = {},
): Viewer {
  const { ref = 'work', query = '', token = ADMIN_TOKEN, headers = {}, autoPong = true } = options;
  const url = (options.url ?? stack.url).replace('http', 'ws');
  const socket = new WebSocket(
    `${url}/api/sessions/${ref}/terminals/${id}/attach${query}`,
    options.protocols ?? [],
    { autoPong, headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers } },
  );
  const chunks: Buffer[] = [];
  const viewer: Viewer = {
    socket,
    frames: [],
    text: () => Buffer.concat(chunks).toString(),
    bytes: () => chunks.reduce((sum, each) => sum + each.length, 0),
    ask: (request) => socket.send(JSON.stringify(request)),
    closed: new Promise((resolve) => socket.once('close', resolve)),
  };
  socket.on('error', () => undefined);
  socket.on('message', (message: Buffer, isBinary) => {
    if (isBinary) chunks.push(message);
    else viewer.frames.push(JSON.parse(message.toString()) as Viewer['frames'][number]);
  });
  return viewer;
}

async function openShell(): Promise<[string, FakeTerminal]> {
  const { body } = await post('work/terminals');
  const played = stack.terminals.played.find(({ id }) => id === body.id);
  if (!played) throw new Error(`not opened: ${JSON.stringify(body)}`);
  return [body.id, played];
}

const attached = async (viewer: Viewer): Promise<void> => {
  await eventually(() => viewer.frames.some(({ type }) => type === 'attached'));
};

describe('terminals over REST [X8]', () => {
  it('a shell is opened once per key, listed, and closed', async () => {
    const headers = { 'idempotency-key': 'shell-1' };
    const body = { cols: 100, rows: 30 };
    const opened = await post('work/terminals', body, { headers });
    expect(opened.status).toBe(201);
    expect(opened.body).toMatchObject({ kind: 'shell', state: 'running', cols: 100, rows: 30 });
    expect(opened.body.id).toMatch(/^trm-[0-9a-f]{8}$/);
    expect((await post('work/terminals', body, { headers })).body).toEqual(opened.body);
    expect(await list('work')).toEqual([opened.body]);
    const at = `DELETE /api/sessions/work/terminals/${opened.body.id}`;
    for (const status of [204, 204]) expect((await call(stack, at)).status).toBe(status);
    expect(await list('work')).toEqual([]);
  });

  it('needs a sandbox: nothing is resumed by it', async () => {
    await create('asleep');
    await post('asleep/suspend?wait=20');
    const refused = await post('asleep/terminals');
    expect(refused.status).toBe(409);
    expect(refused.body.hint).toContain('hangar session open asleep');
    expect(await list('asleep')).toEqual([]);
    expect(await view('trm-00000000', { ref: 'asleep' }).closed).toBe(4409);
    expect((await get('asleep')).state).toBe('SUSPENDED');
  });

  it('says to a request without an upgrade what it is', async () => {
    const plain = await call<Problem>(
      stack,
      'GET /api/sessions/work/terminals/trm-00000000/attach',
    );
    expect(plain.status).toBe(400);
    expect(plain.body.detail).toContain('WebSocket');
  });
});

describe('a viewer', () => {
  it('gets what was printed from its offset on, types, and hears of the end', async () => {
    const [id, terminal] = await openShell();
    terminal.print('0123456789');
    const viewer = view(id, { query: '?from=4&cols=100&rows=30' });
    await eventually(() => viewer.text() === '456789');
    expect(viewer.frames).toEqual([
      { type: 'attached', offset: 4, lost: false, cols: 100, rows: 30 },
    ]);
    viewer.socket.send(Buffer.from('typed'));
    await eventually(() => viewer.text() === '456789typed');
    terminal.exit({ kind: 'exited', code: 7 });
    expect(await viewer.closed).toBe(1000);
    expect(viewer.frames.at(-1)).toEqual({ type: 'exit', exit_code: 7, reason: null });
  });

  it('gets no more than what it takes: the rest waits for its acknowledgement', async () => {
    const [id, terminal] = await openShell();
    const viewer = view(id);
    await attached(viewer);
    const chunk = Buffer.alloc(16 * 1024, 'x');
    const total = 64 * chunk.length;
    for (let sent = 0; sent < total; sent += chunk.length) terminal.print(chunk);
    await eventually(() => viewer.bytes() > TERMINAL_UNACKED_BYTES_MAX);
    const socketsTurn = view(id);
    await attached(socketsTurn);
    expect(viewer.bytes()).toBeLessThan(total / 2);
    for (let taken = 0; taken < total; taken = viewer.bytes()) {
      viewer.ask({ type: 'ack', offset: viewer.bytes() });
      await eventually(() => viewer.bytes() > taken);
    }
    expect(viewer.bytes()).toBe(total);
    for (const { socket } of [viewer, socketsTurn]) socket.close();
  });

  it('hears of the size that another one gave it', async () => {
    const [id] = await openShell();
    const first = view(id, { query: '?cols=90&rows=30' });
    await attached(first);
    const second = view(id, { query: '?cols=50&rows=20' });
    await eventually(() =>
      first.frames.some(({ type, cols }) => type === 'resized' && cols === 50),
    );
    first.ask({ type: 'resize', cols: 120, rows: 40 });
    await eventually(() => second.frames.some(({ cols }) => cols === 120));
    expect(await list('work')).toContainEqual(
      expect.objectContaining({ id, viewers: 2, cols: 120, rows: 40 }),
    );
    for (const { socket } of [first, second]) socket.close();
    await eventually(async () => (await list('work')).find((t) => t.id === id)?.viewers === 0);
  });

  it('that says what nobody understands, or too much at once, is cut off with a reason', async () => {
    const [id] = await openShell();
    for (const text of ['no json', '{"type":"resize","cols":0,"rows":1}', '{"type":"other"}']) {
      const viewer = view(id);
      await attached(viewer);
      viewer.socket.send(text);
      expect(await viewer.closed).toBe(4400);
      expect(viewer.frames.at(-1)).toMatchObject({ type: 'error', problem: { code: 'invalid' } });
    }
    const large = view(id);
    await attached(large);
    large.socket.send(Buffer.alloc(TERMINAL_MESSAGE_BYTES_MAX + 1));
    expect(await large.closed).toBe(1009);
  });

  it('that is gone without a word is found; one that is there hears that the line works', async () => {
    const [id] = await openShell();
    const quick = await stack.another({ heartbeatMs: 50 });
    const url = quick.url ?? '';
    const alive = view(id, { url });
    const dead = view(id, { url, autoPong: false });
    expect(await dead.closed).toBe(1006);
    await eventually(() => alive.frames.filter(({ type }) => type === 'here').length > 3);
    expect(alive.socket.readyState).toBe(WebSocket.OPEN);
    await quick.close();
    expect(await alive.closed).toBe(1012);
  });

  it('whose token is revoked is cut off', async () => {
    const [id] = await openShell();
    const made = await call<{ token: string; id: string }>(stack, 'POST /api/tokens', {
      body: { owner: 'admin', name: 'short', scope: 'write' },
    });
    const quick = await stack.another({ heartbeatMs: 50 });
    const viewer = view(id, { url: quick.url ?? '', token: made.body.token });
    await attached(viewer);
    await call(stack, `DELETE /api/tokens/${made.body.id}`);
    expect(await viewer.closed).toBe(4401);
    expect(viewer.frames.at(-1)).toMatchObject({ problem: { code: 'unauthenticated' } });
    await quick.close();
  });
});

describe('who may attach [Z1]', () => {
  it('an owner with a token that may write; others hear what they would over REST', async () => {
    const [id] = await openShell();
    const [other, reader] = [await newOwner(stack, 'bob'), await newOwner(stack, 'admin', 'read')];
    expect(await view(id, { token: other }).closed).toBe(4404);
    expect(await view(id, { token: reader }).closed).toBe(4403);
    expect(await view(id, { token: null }).closed).toBe(4401);
    expect(await view(id, { token: 'hgr_nobody' }).closed).toBe(4401);
    expect(await view('trm-00000000').closed).toBe(4404);
    expect(await view(id, { query: '?from=-1' }).closed).toBe(4400);
    expect(await view(id, { query: '?no_such_thing=1' }).closed).toBe(4400);
  });

  it('a browser says its token as a subprotocol, and comes from the page of this server', async () => {
    const [id] = await openShell();
    const token = `hangar.token.${encodeURIComponent(ADMIN_TOKEN)}`;
    const origin = stack.url;
    const page = view(id, {
      token: null,
      protocols: [TERMINAL_PROTOCOL, token],
      headers: { origin },
    });
    await attached(page);
    expect(page.socket.protocol).toBe(TERMINAL_PROTOCOL);
    page.socket.close();
    const refusal = async (path: string, headers: object): Promise<number | undefined> => {
      const socket = new WebSocket(`${stack.url.replace('http', 'ws')}${path}`, {
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, ...headers },
      });
      const [, response] = await once(socket, 'unexpected-response');
      return (response as { statusCode?: number }).statusCode;
    };
    const path = `/api/sessions/work/terminals/${id}/attach`;
    expect(await refusal(path, { origin: 'https://evil.example' })).toBe(403);
    expect(await refusal(path, { origin: 'null' })).toBe(403);
    expect(await refusal('/api/events', {})).toBe(404);
  });
});

describe('talking with the agent', () => {
  it('is refused where it cannot be, with the reason', async () => {
    const refused = await post('work/terminals', { kind: 'agent' });
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toContain('no conversation');
    await create('speechless', { harness: 'pi', message: 'hello' });
    const cannot = await post('speechless/terminals', { kind: 'agent' });
    expect(cannot.body.detail).toContain('pi cannot be talked with');
    await create('guarded', { harness: 'codex', permissions: { mode: 'ask' } });
    const unasked = await post('guarded/terminals', { kind: 'agent' });
    expect(unasked).toMatchObject({ status: 409 });
    expect(unasked.body.detail).toContain('codex runs its tools without asking');
  });

  it('is on record before its terminal is there, and ends when somebody says so', async () => {
    await create('talkative', { message: 'hello' });
    const headers = { 'idempotency-key': 'talk-1' };
    const opened = await post('talkative/terminals', { kind: 'agent' }, { headers });
    expect(opened.status).toBe(201);
    expect(opened.body).toMatchObject({ kind: 'agent', state: 'starting' });
    const { id } = opened.body;
    expect(id).toMatch(/^trm-[0-9a-f]{8}-1$/);
    expect((await post('talkative/terminals', { kind: 'agent' }, { headers })).body.id).toBe(id);
    expect((await list('talkative')).find((t) => t.id === id)).toMatchObject({ state: 'starting' });
    expect(await get('talkative')).toMatchObject({ state: 'IDLE', talk: { terminal_id: id } });
    const again = await post('talkative/terminals', { kind: 'agent' });
    expect(again.body.detail).toContain(id);
    // Not there yet: a viewer comes back.
    expect(await view(id, { ref: 'talkative' }).closed).toBe(4503);
    expect((await post('talkative/suspend')).status).toBe(409);
    await post('talkative/send', { message: 'later' });
    expect((await get('talkative')).queue).toHaveLength(1);
    await call(stack, `DELETE /api/sessions/talkative/terminals/${id}`);
    await eventually(async () => {
      const { talk, turns } = await get('talkative');
      return talk === null && turns.length === 2;
    });
    const gone = view(id, { ref: 'talkative' });
    expect(await gone.closed).toBe(4404);
  });
});
