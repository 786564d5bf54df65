import { EventEmitter, once } from 'node:events';
import { PassThrough } from 'node:stream';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  problem,
  startFakeServer,
  type Answer,
  type FakeServer,
} from '../../testing/fake-server.ts';
import { runCommand, type Ran } from '../../testing/run-command.ts';

/** An agent's side of the pipe. */
interface Bench {
  say(message: object | string): void;
  /** The next message for the agent. */
  heard(): Promise<Record<string, unknown>>;
  end(): Promise<Ran>;
}

let server: FakeServer;
let routes: Record<string, Answer>;
beforeEach(async () => {
  routes = {};
  server = await startFakeServer(routes);
});
afterEach(() => server.close());

function start(url = server.url): Bench {
  const input = new PassThrough();
  const lines = createInterface({ input });
  const heard: string[] = [];
  const waiting: (() => void)[] = [];
  let taken = 0;
  const ran = runCommand(['mcp'], {
    url,
    lines,
    onStdout: (text) => {
      heard.splice(0, heard.length, ...text.split('\n').slice(0, -1));
      for (const wake of waiting.splice(0)) wake();
    },
  });
  return {
    say: (message) =>
      void input.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`),
    heard: async () => {
      while (heard.length <= taken) await new Promise<void>((wake) => void waiting.push(wake));
      return JSON.parse(heard[taken++] ?? '') as Record<string, unknown>;
    },
    end: () => {
      input.end();
      return ran;
    },
  };
}

const list = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/list' });
const stream =
  (...messages: object[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(
      messages.map((each) => `event: message\ndata: ${JSON.stringify(each)}\n\n`).join(''),
    );
  };

describe('hangar mcp', () => {
  it('passes a message on as it is, and gives back what comes, one message a line', async () => {
    const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } };
    const result = { jsonrpc: '2.0', id: 1, result: { tools: [] } };
    routes['POST /mcp'] = stream(progress, result);
    const agent = start();
    agent.say('{"jsonrpc":"2.0", "id":1, "method":"tools/list"}');
    expect([await agent.heard(), await agent.heard()]).toEqual([progress, result]);
    const { code, err } = await agent.end();
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(server.asked[0]).toMatchObject({
      body: '{"jsonrpc":"2.0", "id":1, "method":"tools/list"}',
      headers: { authorization: 'Bearer key', accept: 'application/json, text/event-stream' },
    });
    expect(server.asked[0]?.headers).not.toHaveProperty('mcp-method');
  });

  it('says of the protocol what its HTTP form wants', async () => {
    routes['POST /mcp'] = { jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-11-25' } };
    const agent = start();
    agent.say({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });
    await agent.heard();
    agent.say({ ...list(1) });
    await agent.heard();
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    agent.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'limits', _meta } });
    await agent.heard();
    await agent.end();
    const sent = server.asked.map(({ headers }) => [
      headers['mcp-protocol-version'],
      headers['mcp-method'],
      headers['mcp-name'],
    ]);
    expect(sent).toEqual([
      [undefined, undefined, undefined],
      ['2025-11-25', undefined, undefined],
      ['2026-07-28', 'tools/call', 'limits'],
    ]);
  });

  it('hands a refusal by the protocol on to the agent', async () => {
    const refused = { jsonrpc: '2.0', id: 1, error: { code: -32_602, message: 'no such tool' } };
    routes['POST /mcp'] = (response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify(refused));
    };
    const agent = start();
    agent.say(list(1));
    expect(await agent.heard()).toEqual(refused);
    expect((await agent.end()).err).toBe('');
  });

  it('answers for a server that refuses the token, and says so on stderr', async () => {
    routes['POST /mcp'] = problem(
      401,
      'unauthenticated',
      'The access token is not valid any more.',
    );
    const agent = start();
    agent.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    agent.say(list(7));
    const answer = await agent.heard();
    expect(answer).toMatchObject({ id: 7, error: { code: -32_603 } });
    const { code, err, out } = await agent.end();
    expect(JSON.stringify(answer)).toContain('not valid any more. The token (HANGAR_TOKEN)');
    expect(err).toContain('hangar mcp: The access token is not valid any more.');
    expect({ code, lines: out.trim().split('\n').length }).toEqual({ code: 0, lines: 1 });
  });

  it('answers for a server that is away, or leaves before its answer', async () => {
    const gone = await startFakeServer({});
    await gone.close();
    const agent = start(gone.url);
    agent.say(list(1));
    expect(await agent.heard()).toMatchObject({
      id: 1,
      error: { message: expect.stringContaining('No hangar server answers at') },
    });
    expect((await agent.end()).err).toContain('Start one with `npm start`');
    routes['POST /mcp'] = stream({ jsonrpc: '2.0', method: 'notifications/progress' });
    const other = start();
    other.say(list(2));
    await other.heard();
    expect(await other.heard()).toMatchObject({
      id: 2,
      error: { message: expect.stringContaining('before its answer') },
    });
    await other.end();
  });

  it('ends a call that the agent cancels, and goes on with the next', async () => {
    const events = new EventEmitter();
    routes['POST /mcp'] = (response) => {
      response.once('close', () => events.emit('left'));
      events.emit('came');
    };
    const agent = start();
    const came = once(events, 'came');
    agent.say(list(1));
    await came;
    const left = once(events, 'left');
    agent.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await left;
    routes['POST /mcp'] = { jsonrpc: '2.0', id: 2, result: {} };
    agent.say(list(2));
    expect(await agent.heard()).toMatchObject({ id: 2, result: {} });
    expect((await agent.end()).err).toBe('');
  });

  it('refuses what is no JSON, and more requests than it keeps', async () => {
    const open: (() => void)[] = [];
    routes['POST /mcp'] = (response) => void open.push(() => response.end());
    const agent = start();
    agent.say('hello');
    expect(await agent.heard()).toMatchObject({ id: null, error: { code: -32_700 } });
    for (let id = 1; id <= 65; id += 1) agent.say(list(id));
    expect(await agent.heard()).toMatchObject({
      id: 65,
      error: { message: expect.stringContaining('64 requests wait already') },
    });
    expect((await agent.end()).code).toBe(0);
  });

  it('ends with its input, also while a call is held', async () => {
    const agent = start();
    const events = new EventEmitter();
    const came = once(events, 'came');
    routes['POST /mcp'] = () => void events.emit('came');
    agent.say(list(1));
    await came;
    expect(await agent.end()).toMatchObject({ code: 0, out: '', err: '' });
  });
});
