import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Ask, Problem, SessionDocument } from '@hangar/contracts';
import { eventually } from '@hangar/testing';
import { Agent } from '../testing/agent.ts';
import { call, newOwner } from '../testing/http.ts';
import { connectMcp, PROTOCOLS, type Answered, type McpClient } from '../testing/mcp-client.ts';
import { startGatewayStack, type GatewayStack } from '../testing/stack.ts';
import { ALL_TOOLS } from './all-tools.ts';
import type { SessionAnswer } from './session.answer.ts';

let stack: GatewayStack;
let mcp: McpClient;
beforeAll(async () => {
  stack = await startGatewayStack();
  await call(stack, 'POST /api/environments', { body: { name: 'plain' } });
  mcp = await connectMcp(stack);
}, 120_000);
afterAll(async () => {
  await mcp?.close();
  await stack.close();
}, 60_000);
afterEach(() => {
  stack.spokes.held.clear();
  if (stack.errors.length > 0) throw new AggregateError(stack.errors, 'the gateway told of errors');
});

const get = (ref: string): Promise<SessionDocument> =>
  call<SessionDocument>(stack, `GET /api/sessions/${ref}`).then(({ body }) => body);
const sessionOf = ({ structured, isError, text }: Answered): SessionAnswer => {
  if (isError) throw new Error(text);
  return structured as unknown as SessionAnswer;
};
const create = async (name: string, more: object = {}): Promise<SessionAnswer> =>
  sessionOf(
    await mcp.call('new_session', { name, environment: 'plain', harness: 'fake', ...more }),
  );

/** A session whose first turn does not end until `RunFinished` is released. */
async function atWork(name: string): Promise<string> {
  stack.spokes.held.add('RunFinished');
  const made = await create(name, { message: 'work', wait_seconds: 0 });
  await eventually(async () => {
    // Delivered too: until then the run itself has something to record.
    const { turns, queue } = await get(name);
    return turns[0]?.started_at && queue.length === 0;
  });
  return made.session.id;
}

const CHOICE: Ask = {
  id: 'call-1',
  kind: 'question',
  questions: [
    {
      id: 'q1',
      text: 'Which?',
      choices: [
        { label: 'A', description: '' },
        { label: 'B', description: '' },
      ],
      is_multiple: false,
    },
  ],
};

describe.each(PROTOCOLS)('with the protocol of %s', (protocol) => {
  let client: McpClient;
  beforeAll(async () => {
    client = await connectMcp(stack, { protocol });
  });
  afterAll(() => client.close());
  const slug = `p${PROTOCOLS.indexOf(protocol)}`;

  it('a session is created, spoken with, suspended and read [U4]', async () => {
    expect(client.instructions).toContain('get_session');
    const made = await client.call('new_session', {
      name: slug,
      environment: 'plain',
      harness: 'fake',
      message: 'one',
    });
    expect(made.text).toContain('did turn 1');
    expect(sessionOf(made)).toMatchObject({
      session: { name: slug, state: 'IDLE', turns: 1 },
      pending: false,
      turn: { number: 1, outcome: 'succeeded', message: 'one', answer: 'did turn 1' },
    });
    const sent = await client.call('send_to_session', { session: slug, message: 'two' });
    expect(sessionOf(sent)).toMatchObject({ turn: { number: 2, message: 'two' }, cards: [] });
    const slept = await client.call('suspend_session', { session: slug });
    expect(sessionOf(slept)).toMatchObject({ session: { state: 'SUSPENDED' }, pending: false });
    const got = await client.call('get_session', { session: slug });
    expect(got.structured).toMatchObject({ earlier_turns: [{ number: 1, answer: 'did turn 1' }] });
    expect(got.text).toContain('Next: Call send_to_session');
  });

  it('tools are listed with what they take, without references', async () => {
    const tools = await client.tools();
    expect(tools.map(({ name }) => name)).toEqual(ALL_TOOLS.map(({ name }) => name));
    expect(JSON.stringify(tools)).not.toMatch(/\$ref|\$defs/);
    const send = tools.find(({ name }) => name === 'send_to_session');
    expect(send?.inputSchema.required).toEqual(['session', 'message']);
    expect(send?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: false });
  });

  it('a refusal is a result, with what was kept and what to do', async () => {
    const none = await client.call('send_to_session', { session: 'nobody', message: 'hi' });
    expect(none.isError).toBe(true);
    expect(none.structured).toMatchObject({ code: 'not_found', status: 404 });
    expect(none.text.split('\n')).toEqual([
      'You have no session called nobody.',
      'Nothing was changed.',
      'GET /api/sessions (hangar session list) shows those you have.',
    ]);
    const wrong = await client.call('keep_session', { session: slug, idle_minutes: -1, or: 1 });
    expect(wrong.structured).toMatchObject({ code: 'invalid', status: 400 });
    expect(wrong.text).toContain('idle_minutes');
    await expect(client.call('no_such_tool')).rejects.toThrow('There is no tool no_such_tool');
  });

  it('who waits hears of the phase and of what the agent does, and then of the end', async () => {
    const name = `${slug}-told`;
    const agent = new Agent(stack.log, await atWork(name));
    const told: string[] = [];
    const waiting = client.call(
      'get_session',
      { session: name, wait_seconds: 30 },
      { onprogress: ({ message = '' }) => void told.push(message) },
    );
    await eventually(() => told.length > 0);
    await agent.does({ turn: 1 }, [{ type: 'tool_started', tool: 'Bash', input: 'npm test' }]);
    await eventually(() => told.some((message) => message.includes('Bash npm test')));
    expect(told[0]).toBe('ACTIVE: turn 1');
    await stack.spokes.release('RunFinished');
    expect(sessionOf(await waiting)).toMatchObject({ pending: false, turn: { number: 1 } });
  });
});

describe('a wait [U4]', () => {
  it('is bounded: what is pending can be waited for again, by the message', async () => {
    await create('bounded');
    stack.spokes.held.add('RunFinished');
    const sent = await mcp.call('send_to_session', {
      session: 'bounded',
      message: 'long',
      wait_seconds: 1,
    });
    const first = sessionOf(sent);
    expect(first).toMatchObject({ pending: true, session: { state: 'ACTIVE' } });
    expect(first.turn).toMatchObject({ number: 1, outcome: null });
    expect(sent.text).toContain(`get_session with session bounded, message_id ${first.message_id}`);
    const wait = { session: 'bounded', message_id: first.message_id, wait_seconds: 30 };
    const again = mcp.call('get_session', wait);
    await stack.spokes.release('RunFinished');
    expect(sessionOf(await again)).toMatchObject({
      pending: false,
      turn: { message: 'long', outcome: 'succeeded' },
    });
    const unknown = await mcp.call('get_session', { ...wait, message_id: 'msg-00000000' });
    expect(unknown.structured).toMatchObject({ code: 'not_found' });
  });

  it('ends with the card that the agent raises, and the answer goes on [A2]', async () => {
    const id = await atWork('asks');
    const waiting = mcp.call('get_session', { session: 'asks', wait_seconds: 30 });
    await stack.spokes.ask(id, 1, CHOICE);
    const asked = await waiting;
    const [card] = sessionOf(asked).cards;
    expect(card).toMatchObject({
      kind: 'question',
      questions: [{ id: 'q1', choices: ['A', 'B'] }],
    });
    expect(asked.text).toContain(`Next: Call answer with session asks, card ${card?.card}`);
    const nothing = await mcp.call('answer', { session: 'asks', card: card?.card, reason: 'no' });
    expect(nothing.structured).toMatchObject({ code: 'invalid', detail: 'The answer is missing.' });
    const answering = mcp.call('answer', { session: 'asks', card: card?.card, text: 'B' });
    await eventually(async () => (await get('asks')).attention.length === 0);
    await stack.spokes.release('RunFinished');
    expect(sessionOf(await answering)).toMatchObject({ cards: [], turn: { outcome: 'succeeded' } });
    const late = await mcp.call('answer', { session: 'asks', card: card?.card, text: 'A' });
    expect(late.structured).toMatchObject({ code: 'conflict' });
  });

  it('ends when the client leaves, and the work does not', async () => {
    await create('left');
    stack.spokes.held.add('RunFinished');
    const leaving = new AbortController();
    const sent = mcp.call(
      'send_to_session',
      { session: 'left', message: 'go on', wait_seconds: 30 },
      { signal: leaving.signal },
    );
    await eventually(async () => (await get('left')).turns[0]?.started_at);
    leaving.abort();
    await expect(sent).rejects.toThrow(/abort/i);
    await stack.spokes.release('RunFinished');
    await eventually(async () => (await get('left')).turns[0]?.outcome === 'succeeded');
  });

  it('hears no more once its token is revoked [Z1]', async () => {
    const made = await call<{ token: string; id: string }>(stack, 'POST /api/tokens', {
      body: { owner: 'admin', name: 'short', scope: 'read' },
    });
    const short = await connectMcp(stack, { token: made.body.token });
    const agent = new Agent(stack.log, await atWork('revoked'));
    const told: string[] = [];
    const waiting = short.call(
      'get_session',
      { session: 'revoked', wait_seconds: 4 },
      { onprogress: ({ message = '' }) => void told.push(message) },
    );
    await eventually(() => told.length > 0);
    await call(stack, `DELETE /api/tokens/${made.body.id}`);
    await agent.does({ turn: 1 }, [{ type: 'message', text: 'after the end' }]);
    await waiting;
    expect(told.join()).not.toContain('after the end');
    await expect(short.call('list_sessions')).rejects.toThrow('not valid any more');
    await short.close();
    await stack.spokes.release('RunFinished');
  });
});

describe('the other tools [U1]', () => {
  it('stop a turn, and keep its work', async () => {
    await atWork('stopped');
    const stopped = await mcp.call('interrupt_session', { session: 'stopped' });
    expect(sessionOf(stopped)).toMatchObject({
      session: { state: 'IDLE' },
      turn: { number: 1, outcome: 'cancelled' },
    });
  });

  it('decide on a turn that was lost, by running it again or going on without it [S3]', async () => {
    for (const [action, turns] of [
      ['retry', ['interrupted', 'succeeded']],
      ['continue', ['interrupted']],
    ] as const) {
      const name = `lost-${action}`;
      await stack.spokes.loseRun(await atWork(name), 1);
      const waited = await mcp.call('get_session', { session: name, wait_seconds: 30 });
      expect(sessionOf(waited).session.state).toBe('INTERRUPTED');
      expect(waited.text).toContain('Next: Call resolve_interruption');
      stack.spokes.held.delete('RunFinished');
      const resolved = await mcp.call('resolve_interruption', { session: name, action });
      expect(sessionOf(resolved)).toMatchObject({ session: { state: 'IDLE' }, pending: false });
      expect((await get(name)).turns.map(({ outcome }) => outcome)).toEqual(turns);
    }
  });

  it('tell what was done, allowed and saved, page by page', async () => {
    const { session } = await create('told', { message: 'one' });
    const agent = new Agent(stack.log, session.id);
    await agent.does({ turn: 1 }, [
      { type: 'tool_started', call_id: 'c1', tool: 'Bash', input: '{"command":"ls"}' },
      { type: 'tool_finished', call_id: 'c1', output: 'x'.repeat(9000), is_error: false },
      { type: 'message', text: 'all is there' },
    ]);
    const done = await mcp.call('activity', { session: 'told', limit: 2 });
    expect(done.text.split('\n')).toEqual([
      '[turn 1] Bash {"command":"ls"}',
      expect.stringMatching(/^\[turn 1\] done: x+ \[cut, \d+ characters more\]$/),
      'More: call activity with after 1.0.2.',
    ]);
    const rest = await mcp.call('activity', { session: 'told', after: '1.0.2' });
    expect(rest.text).toBe('[turn 1] says: all is there');
    await stack.spokes.decide(session.id, 1, {
      call_id: 'c1',
      tool: 'Bash',
      verdict: 'deny',
      decided_by: 'rule 1',
    });
    const decided = await mcp.call('decisions', { session: 'told' });
    expect(decided.text).toBe('[turn 1] deny Bash {} (by rule 1)');
    const saved = await mcp.call('checkpoints', { session: 'told' });
    expect(saved.structured).toMatchObject({ checkpoints: [{ turn: 1, complete: true }] });
    expect((await mcp.call('changes', { session: 'told' })).text).toContain('No changes');
    const page = await mcp.call('list_sessions', { limit: 1, state: 'IDLE' });
    expect(page.structured).toMatchObject({
      sessions: [{ name: 'told', last_answer: 'did turn 1' }],
    });
    const { next_cursor } = page.structured;
    const next = await mcp.call('list_sessions', { limit: 1, cursor: next_cursor });
    expect(next.text).not.toContain(session.id);
    const gone = await mcp.call('archive_session', { session: 'told' });
    expect(sessionOf(gone).session.state).toBe('ARCHIVED');
  });

  it('name what there is before anything starts [S8]', async () => {
    const found = await mcp.call('limits', { environment: 'plain', harness: 'pi' });
    expect(found.structured).toMatchObject({
      environments: [{ name: 'plain', harnesses: ['claude-code', 'codex', 'pi'] }],
      limits: expect.arrayContaining([
        expect.objectContaining({ name: 'turn_minutes', value: 60 }),
      ]),
    });
  });
});

describe('a gateway that closes', () => {
  it.each(PROTOCOLS)(
    'answers the calls that it holds (%s), and the work goes on',
    async (protocol) => {
      const name = `closing-${PROTOCOLS.indexOf(protocol)}`;
      await atWork(name);
      const other = await stack.another();
      const client = await connectMcp({ url: other.url ?? '' }, { protocol });
      const told: string[] = [];
      const held = client.call(
        'get_session',
        { session: name, wait_seconds: 60 },
        { onprogress: ({ message = '' }) => void told.push(message) },
      );
      await eventually(() => told.length > 0);
      await other.close();
      expect(sessionOf(await held)).toMatchObject({ pending: true, session: { state: 'ACTIVE' } });
      await client.close();
      await stack.spokes.release('RunFinished');
      await eventually(async () => (await get(name)).state === 'IDLE');
    },
  );
});

describe('a call with a key is done once, also from two surfaces [M2]', () => {
  it('new_session and send_to_session', async () => {
    const input = { name: 'once', environment: 'plain', harness: 'fake', idempotency_key: 'k-1' };
    const [one, two] = await Promise.all([
      mcp.call('new_session', input),
      mcp.call('new_session', input),
    ]);
    expect(sessionOf(one).session.id).toBe(sessionOf(two).session.id);
    const send = { session: 'once', message: 'hello', idempotency_key: 'k-2' };
    const sent = sessionOf(await mcp.call('send_to_session', send));
    const rest = await call<{ message_id: string }>(stack, 'POST /api/sessions/once/send', {
      body: { message: 'hello' },
      headers: { 'idempotency-key': 'k-2' },
    });
    expect(rest.body.message_id).toBe(sent.message_id);
    const other = await mcp.call('send_to_session', { ...send, message: 'else' });
    expect(other.structured).toMatchObject({ code: 'conflict' });
  });
});

describe('who may do what [Z1]', () => {
  it('another owner has other sessions, in every tool', async () => {
    await create('mine', { message: 'secret' });
    const token = await newOwner(stack, 'stranger');
    const stranger = await connectMcp(stack, { token });
    const listed = await stranger.call('list_sessions');
    expect(listed.structured).toEqual({ sessions: [], next_cursor: null });
    const more: Record<string, object> = {
      send_to_session: { message: 'hi' },
      keep_session: { idle_minutes: 1 },
      answer: { card: 'card-00000000', text: 'x' },
      resolve_interruption: { action: 'retry' },
    };
    const about = ALL_TOOLS.filter(({ input }) => 'session' in input.shape);
    expect(about.length).toBe(13);
    for (const { name } of about) {
      const refused = await stranger.call(name, { session: 'mine', ...more[name] });
      expect([name, refused.structured['code']]).toEqual([name, 'not_found']);
    }
    await stranger.close();
  });

  it('a token to read is offered what reads, and refused the rest', async () => {
    const token = await newOwner(stack, 'admin', 'read');
    const reader = await connectMcp(stack, { token });
    const reads = ALL_TOOLS.filter(({ scope }) => scope === 'read').map(({ name }) => name);
    expect((await reader.tools()).map(({ name }) => name)).toEqual(reads);
    const refused = await reader.call('suspend_session', { session: 'mine' });
    expect(refused.structured).toMatchObject({ code: 'forbidden', status: 403 });
    expect(refused.text).toContain('This token has: read.');
    await reader.close();
  });

  it('without a token, or with one that ran out, there is no tool at all', async () => {
    await expect(connectMcp(stack, { token: null })).rejects.toThrow('401');
    const expires_at = new Date(Date.now() + 1500).toISOString();
    const made = await call<{ token: string }>(stack, 'POST /api/tokens', {
      body: { owner: 'admin', name: 'brief', scope: 'read', expires_at },
    });
    const status = async (): Promise<number> => {
      const { token } = made.body;
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
      const accept = 'application/json, text/event-stream';
      return (await call(stack, 'POST /mcp', { token, body, headers: { accept } })).status;
    };
    expect(await status()).toBe(200);
    await eventually(async () => (await status()) === 401);
  });

  it('a web page of another host is refused, one of this machine is not', async () => {
    const asked = (origin: string) =>
      call<Problem>(stack, 'POST /mcp', {
        body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
        headers: { origin, accept: 'application/json, text/event-stream' },
      });
    expect((await asked('http://localhost:6274')).status).toBe(200);
    const refused = await asked('http://evil.example:7700');
    expect(refused.body).toMatchObject({ status: 403, code: 'forbidden' });
    expect((await call(stack, 'GET /mcp')).status).toBe(405);
  });
});
