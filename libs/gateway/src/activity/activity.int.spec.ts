import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type {
  ActivityItem,
  DecisionDocument,
  HarnessDocument,
  Page,
  Problem,
  SessionDocument,
} from '@hangar/contracts';
import { eventually } from '@hangar/testing';
import { Agent } from '../testing/agent.ts';
import { call, newOwner } from '../testing/http.ts';
import { SseReader } from '../testing/sse.ts';
import { startGatewayStack, type GatewayStack } from '../testing/stack.ts';

let stack: GatewayStack;
let reader: string;
let other: string;
beforeAll(async () => {
  stack = await startGatewayStack();
  reader = await newOwner(stack, 'admin', 'read');
  other = await newOwner(stack, 'other');
  await call(stack, 'POST /api/environments', { body: { name: 'plain' } });
}, 120_000);
afterAll(() => stack.close(), 60_000);

async function create(name: string): Promise<{ id: string; agent: Agent }> {
  const { body } = await call<SessionDocument>(stack, 'POST /api/sessions?wait=20', {
    body: { name, environment: 'plain', harness: 'fake', message: 'one' },
  });
  return { id: body.id, agent: new Agent(stack.log, body.id) };
}

const said = (...texts: string[]): Partial<ActivityItem>[] =>
  texts.map((text) => ({ type: 'message', text }));

const list = (ref: string, query = '') =>
  call<Page<ActivityItem> & Problem>(stack, `GET /api/sessions/${ref}/activity${query}`, {
    token: reader,
  });

describe('GET /api/sessions/{ref}/activity', () => {
  it('has every item once, in order, page by page, whatever is added meanwhile', async () => {
    const { agent } = await create('paged');
    const cursors = [
      ...(await agent.does({ turn: 1 }, said('a', 'b', 'c'))),
      ...(await agent.does({ turn: 1, part: 1 }, said('d', 'e'))),
      ...(await agent.does({ turn: 2 }, said('f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o'))),
    ];
    const seen: ActivityItem[] = [];
    let after: string | null = '';
    while (after !== null) {
      const { body }: { body: Page<ActivityItem> } = await list(
        'paged',
        `?limit=4${after && `&after=${after}`}`,
      );
      expect(body.items.length).toBeLessThanOrEqual(4);
      seen.push(...body.items);
      after = body.next_cursor;
      if (seen.length === 8) cursors.push(...(await agent.does({ turn: 2 }, said('p', 'q'))));
    }
    expect(seen.map(({ cursor }) => cursor)).toEqual(cursors);
    expect(seen.map(({ text }) => text).join('')).toBe('abcdefghijklmnopq');
    expect(seen[5]).toEqual({
      cursor: '2.0.1',
      turn: 2,
      at: expect.stringMatching(/^20.*Z$/),
      type: 'message',
      text: 'f',
    });
  });

  it('begins with a turn at its place, and ends with nothing', async () => {
    expect((await list('paged', '?after=2.0.0&limit=1')).body.items[0]?.text).toBe('f');
    expect((await list('paged', '?after=1.1.1&limit=1')).body.items[0]?.text).toBe('e');
    expect((await list('paged', '?after=2.0.12')).body).toEqual({ items: [], next_cursor: null });
    await create('silent');
    expect((await list('silent')).body).toEqual({ items: [], next_cursor: null });
  });

  it.each(['2', '1.2.3', '-1.0.0', '1.0.0;', 'abc'])('refuses the place %s', async (after) => {
    const { status, body } = await list('paged', `?after=${after}`);
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid' });
    expect(body.detail).toContain('cursor of an item');
  });
});

const LIVE = '/api/sessions/live/activity/live';

describe('GET /api/sessions/{ref}/activity/live', () => {
  const texts = (sse: SseReader): unknown[] =>
    sse.messages.map(({ event, data }) => {
      const { text, delta } = data as unknown as { text?: string; delta?: string };
      return event === 'delta' ? `+${delta}` : text;
    });

  it('goes on from any item, without gap or repeat across connections and restarts', async () => {
    const { agent } = await create('live');
    await agent.does({ turn: 1 }, said('a', 'b', 'c'));
    let sse = await new SseReader().open(stack, `${LIVE}?last_event_id=1.0.1`, {}, reader);
    expect(sse.headers.get('content-type')).toContain('text/event-stream');
    await eventually(() => sse.messages.length === 2);
    const all = texts(sse);
    for (const text of ['d', 'e', 'f']) {
      // Said while nobody listens; then while somebody does.
      const ended = sse.ended;
      if (text === 'd') await sse.close();
      else {
        await stack.stopGateway();
        await stack.start();
      }
      await ended;
      await agent.does({ turn: 1 }, said(text));
      sse = await new SseReader().open(stack, LIVE, { 'last-event-id': sse.lastId }, reader);
      await eventually(() => sse.messages.length === 1);
      await agent.does({ turn: 1 }, said(`${text}!`));
      await eventually(() => sse.messages.length === 2);
      all.push(...texts(sse));
    }
    expect(all).toEqual(['b', 'c', 'd', 'd!', 'e', 'e!', 'f', 'f!']);
    expect(sse.messages.at(-1)).toMatchObject({
      id: '1.0.9',
      event: 'message',
      data: { cursor: '1.0.9', turn: 1, type: 'message' },
    });
    await sse.close();
  });

  it('begins with now without an id, and tells what is being written to who is there', async () => {
    const agent = new Agent(stack.log, (await create('written')).id);
    await agent.does({ turn: 1 }, said('before'));
    const path = '/api/sessions/written/activity/live';
    const sse = await new SseReader().open(stack, path, {}, reader);
    // The subscription is there when what is said arrives as it is said.
    await eventually(() => {
      agent.writes(1, 'Hel');
      return sse.messages.length > 0;
    });
    agent.writes(1, 'lo');
    await eventually(() => texts(sse).at(-1) === '+lo');
    await agent.does({ turn: 1 }, said('Hello'));
    await eventually(() => texts(sse).at(-1) === 'Hello');
    agent.writes(1, 'Then');
    await eventually(() => texts(sse).at(-1) === '+Then');
    expect(new Set(texts(sse))).toEqual(new Set(['+Hel', '+lo', 'Hello', '+Then']));
    expect(sse.messages.at(-1)).toEqual({
      id: '',
      event: 'delta',
      data: { turn: 1, delta: 'Then' },
    });
    expect(sse.lastId).toBe('1.0.2');
    await sse.close();
    // What was being written is not repeated: the message that follows has it whole.
    const back = await new SseReader().open(stack, path, { 'last-event-id': sse.lastId }, reader);
    await agent.does({ turn: 1 }, said('Then this.'));
    await eventually(() => back.messages.length > 0);
    expect(texts(back)).toEqual(['Then this.']);
    await back.close();
  });

  it('is one of the session, and of nobody else [Z1]', async () => {
    const { agent } = await create('mine');
    const sse = await new SseReader().open(stack, '/api/sessions/silent/activity/live', {}, reader);
    await agent.does({ turn: 1 }, said('not for silent'));
    const silent = new Agent(
      stack.log,
      (await call<SessionDocument>(stack, 'GET /api/sessions/silent')).body.id,
    );
    await silent.does({ turn: 1 }, said('for silent'));
    await eventually(() => sse.messages.length > 0);
    expect(texts(sse)).toEqual(['for silent']);
    await sse.close();
    for (const path of ['activity', 'activity/live', 'decisions']) {
      const answer = await call<Problem>(stack, `GET /api/sessions/mine/${path}`, { token: other });
      expect({ path, status: answer.status }).toEqual({ path, status: 404 });
    }
  });

  it('refuses an id that is none of it', async () => {
    const wrong = await call<Problem>(stack, `GET ${LIVE}?last_event_id=12`);
    expect({ status: wrong.status, code: wrong.body.code }).toEqual({
      status: 400,
      code: 'invalid',
    });
  });
});

describe('GET /api/sessions/{ref}/decisions [A3]', () => {
  const decisions = (query = '') =>
    call<Page<DecisionDocument> & Problem>(stack, `GET /api/sessions/decided/decisions${query}`, {
      token: reader,
    });
  const decide = (id: string, turn: number, call_id: string, verdict = 'allow') =>
    stack.spokes.decide(id, turn, { call_id, tool: 'Bash', verdict, decided_by: 'mode' });

  it('are in the order of the turns, then of the calls, page by page', async () => {
    const { id } = await create('decided');
    // Ten turns: their order is that of their numbers, not of the letters of their runs.
    for (let turn = 2; turn <= 10; turn += 1)
      await call(stack, 'POST /api/sessions/decided/send', {
        body: { message: 'more', mode: 'queue' },
      });
    const turns = async () =>
      (await call<SessionDocument>(stack, 'GET /api/sessions/decided')).body.turns;
    await eventually(async () => (await turns())[9]?.finished_at, { withinMs: 100_000 });
    await decide(id, 10, 'f');
    await decide(id, 2, 'c');
    await decide(id, 2, 'd', 'deny');
    await decide(id, 1, 'a');
    await decide(id, 1, 'b');
    await decide(id, 9, 'e');
    const seen: DecisionDocument[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { body }: { body: Page<DecisionDocument> } = await decisions(
        `?limit=2${cursor && `&cursor=${cursor}`}`,
      );
      seen.push(...body.items);
      cursor = body.next_cursor;
    }
    expect(seen.map(({ turn, call_id }) => `${turn}${call_id}`)).toEqual([
      '1a',
      '1b',
      '2c',
      '2d',
      '9e',
      '10f',
    ]);
    expect(seen[3]).toMatchObject({
      turn: 2,
      tool: 'Bash',
      input: '{}',
      verdict: 'deny',
      decided_by: 'mode',
      decided_at: expect.stringMatching(/Z$/),
    });
  }, 120_000);

  it('of one turn, also page by page; a turn without a call has none', async () => {
    const first = (await decisions('?turn=2&limit=1')).body;
    expect(first.items.map(({ call_id }) => call_id)).toEqual(['c']);
    const next = (await decisions(`?turn=2&limit=1&cursor=${first.next_cursor}`)).body;
    expect(next.items.map(({ call_id }) => call_id)).toEqual(['d']);
    expect(next.next_cursor).toBeNull();
    expect((await decisions('?turn=3')).body).toEqual({ items: [], next_cursor: null });
    expect((await decisions('?turn=0')).status).toBe(400);
    expect((await decisions('?cursor=nonsense')).status).toBe(400);
  });
});

describe('GET /api/harnesses [H1]', () => {
  it('says which there are, their versions, and what each can', async () => {
    const { body } = await call<{ items: HarnessDocument[] }>(stack, 'GET /api/harnesses', {
      token: reader,
    });
    expect(body.items).toContainEqual({
      name: 'pi',
      version: '1.0.0',
      verified: false,
      capabilities: { steer: false, approvals: false, talk: false, talkAsks: false },
    });
    // The one for trying hangar out can be used, and is not offered.
    expect(body.items.map(({ name }) => name)).toEqual(['claude-code', 'codex', 'pi']);
  });
});
