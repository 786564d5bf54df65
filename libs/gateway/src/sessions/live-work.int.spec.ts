import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  TAKE_BACK_SECONDS_MAX,
  type Ask,
  type CardDocument,
  type MessageReceipt,
  type Page,
  type Problem,
  type SessionCard,
  type SessionDocument,
  type SessionOutcome,
} from '@hangar/contracts';
import { eventually } from '@hangar/testing';
import { call, newOwner } from '../testing/http.ts';
import { startGatewayStack, type GatewayStack } from '../testing/stack.ts';

let stack: GatewayStack;
beforeAll(async () => {
  stack = await startGatewayStack();
  await call(stack, 'POST /api/environments', { body: { name: 'plain' } });
}, 120_000);
afterAll(() => stack.close(), 60_000);
afterEach(() => {
  stack.spokes.held.clear();
  if (stack.errors.length > 0) throw new AggregateError(stack.errors, 'the gateway told of errors');
});

const post = <T = SessionOutcome & Problem>(at: string, body: object = {}) =>
  call<T>(stack, `POST /api/sessions/${at}`, { body });
const get = (ref: string): Promise<SessionDocument> =>
  call<SessionDocument>(stack, `GET /api/sessions/${ref}`).then(({ body }) => body);
const send = async (ref: string, message: string, mode = 'auto'): Promise<MessageReceipt> =>
  (await post<MessageReceipt>(`${ref}/send`, { message, mode })).body;

/** A session whose first turn does not end until `RunFinished` is released. */
async function atWork(name: string, more: object = {}): Promise<string> {
  stack.spokes.held.add('RunFinished');
  const made = await call<SessionDocument>(stack, 'POST /api/sessions', {
    body: { name, environment: 'plain', harness: 'fake', message: 'work', ...more },
  });
  await eventually(async () => {
    const { turns, queue } = await get(name);
    return turns[0]?.started_at && queue.length === 0;
  });
  return made.body.id;
}

/** The log of a session, as `type` and data. */
async function logged<Data>(id: string, type: string): Promise<Data[]> {
  const { rows } = await stack.log.pool.query<{ data: Data }>(
    'select data from es.event where stream_id = $1 and type = $2 order by version',
    [`session/${id}`, type],
  );
  return rows.map(({ data }) => data);
}

describe('a message while a turn runs [M3]', () => {
  it('joins it, and the turn has it', async () => {
    await atWork('steered');
    stack.spokes.held.add('SteerRequested');
    const receipt = await send('steered', 'also this');
    expect(receipt).toMatchObject({ status: 'queued', mode: 'auto', becomes: 'steer' });
    expect((await get('steered')).queue).toMatchObject([{ text: 'also this', is_steering: true }]);
    await stack.spokes.release('SteerRequested');
    await eventually(async () => (await get('steered')).queue.length === 0);
    const waited = post('steered/send?wait=20', { message: 'and that' });
    await eventually(async () => (await get('steered')).turns[0]?.steered.length === 2);
    await stack.spokes.release('RunFinished');
    const done = await waited;
    expect(done.body).toMatchObject({ waited: true, state: 'IDLE' });
    expect(done.body.turns).toHaveLength(1);
    expect(done.body.turns[0]).toMatchObject({
      message: 'work',
      steered: [{ text: 'also this' }, { text: 'and that' }],
    });
  });

  it('says of each mode and state what becomes of it', async () => {
    await atWork('modes');
    stack.spokes.held.add('SteerRequested');
    const becomes = [
      (await send('modes', 'a', 'queue')).becomes,
      // Behind one that waits for its turn it waits too; `steer` does not.
      (await send('modes', 'b')).becomes,
      (await send('modes', 'c', 'steer')).becomes,
    ];
    expect(becomes).toEqual(['queue', 'queue', 'steer']);
    await atWork('no-steer', { harness: 'pi' });
    expect((await send('no-steer', 'a')).becomes).toBe('queue');
    const rest = await call(stack, 'POST /api/sessions?wait=20', {
      body: { name: 'at-rest', environment: 'plain', harness: 'fake' },
    });
    expect(rest.status).toBe(200);
    stack.spokes.held.add('TurnRequested');
    expect(await send('at-rest', 'a')).toMatchObject({ becomes: 'turn', turn: 1 });
    await stack.spokes.release('TurnRequested');
    await stack.spokes.release('RunFinished');
    await eventually(async () => (await get('at-rest')).state === 'IDLE');
    await post('at-rest/suspend?wait=20');
    stack.spokes.held.add('SandboxRequested');
    expect((await send('at-rest', 'b')).becomes).toBe('resume');
    await stack.spokes.release('SandboxRequested');
  });
});

describe('a message that was offered, taken back [M4]', () => {
  const takeBack = (ref: string, id: string) =>
    call<MessageReceipt & Problem>(stack, `DELETE /api/sessions/${ref}/queue/${id}`);
  const offered = async (name: string): Promise<string> => {
    await atWork(name);
    stack.spokes.held.add('SteerRequested');
    return (await send(name, 'wait')).message_id;
  };

  it('is taken back when the harness gives it back', async () => {
    const id = await offered('given-back');
    const back = await takeBack('given-back', id);
    expect({ status: back.status, body: back.body }).toMatchObject({
      status: 200,
      body: { message_id: id, status: 'taken_back', becomes: null },
    });
    expect((await get('given-back')).queue).toEqual([]);
    // Once more is no error: it is taken back.
    expect((await takeBack('given-back', id)).status).toBe(200);
  });

  it('is delivered when the harness has it', async () => {
    const id = await offered('has-it');
    stack.spokes.held.add('TakeBackRequested');
    const asking = takeBack('has-it', id);
    await eventually(async () => (await logged(await idOf('has-it'), 'TakeBackRequested')).length);
    await stack.spokes.release('SteerRequested');
    const late = await asking;
    expect({ status: late.status, body: late.body }).toMatchObject({
      status: 409,
      body: { code: 'conflict', detail: expect.stringMatching(/has this message/) },
    });
    expect((await get('has-it')).turns[0]?.steered).toMatchObject([{ message_id: id }]);
  });

  it(
    'is still asked for when the harness says nothing, and settled by the end of its turn',
    async () => {
      const id = await offered('no-word');
      stack.spokes.held.add('TakeBackRequested');
      const asked = await takeBack('no-word', id);
      expect({ status: asked.status, body: asked.body }).toMatchObject({
        status: 202,
        body: { status: 'queued', becomes: 'steer' },
      });
      const asking = takeBack('no-word', id);
      await stack.spokes.release('RunFinished');
      const back = await asking;
      expect({ status: back.status, body: back.body }).toMatchObject({
        status: 200,
        body: { status: 'taken_back' },
      });
      const { turns } = await get('no-word');
      expect(turns.map(({ message }) => message)).toEqual(['work']);
    },
    (TAKE_BACK_SECONDS_MAX + 30) * 1000,
  );

  const idOf = async (ref: string): Promise<string> => (await get(ref)).id;
});

const QUESTION: Ask = {
  id: 'call-1',
  kind: 'question',
  questions: [
    {
      id: 'q1',
      text: 'Which one?',
      choices: [
        { label: 'A', description: 'the first' },
        { label: 'B', description: '' },
      ],
      is_multiple: false,
    },
  ],
};
const QUESTIONS: Ask = {
  ...QUESTION,
  id: 'call-2',
  questions: ['size', 'colour'].map((id) => ({
    id,
    text: `Which ${id}?`,
    choices: [],
    is_multiple: false,
  })),
};
const DECISION: Ask = {
  id: 'call-3',
  kind: 'decision',
  questions: [{ id: 'leave', text: 'Run git push?', choices: [], is_multiple: false }],
  tool: 'Bash',
  tool_input: '{"command":"git push"}',
};

/** The card that a running turn raised. */
async function raised(ref: string, ask: Ask, turn = 1): Promise<CardDocument> {
  const { id } = await get(ref);
  await stack.spokes.ask(id, turn, ask);
  const card = async () =>
    (await get(ref)).attention.find(({ text }) => text.includes(ask.questions[0]!.text));
  await eventually(async () => (await card()) !== undefined);
  return (await card())!;
}

interface Answered {
  answer: { verdict: string; answers: { question_id: string; text: string }[]; reason: string };
  answered_by: string;
}

describe('GET /api/cards', () => {
  it('has the cards of all sessions of the owner, longest first, a page at a time [A1]', async () => {
    const names = ['cards-a', 'cards-b', 'cards-c'];
    for (const name of names) {
      await atWork(name);
      await raised(name, QUESTION);
    }
    const seen: SessionCard[] = [];
    let cursor: string | null = null;
    do {
      const page: Page<SessionCard> = (
        await call<Page<SessionCard>>(
          stack,
          `GET /api/cards?limit=1${cursor ? `&cursor=${cursor}` : ''}`,
        )
      ).body;
      expect(page.items.length).toBeLessThanOrEqual(1);
      seen.push(...page.items);
      cursor = page.next_cursor;
    } while (cursor !== null);
    const own = seen.filter(({ session }) => names.includes(session.name));
    expect(own.map(({ session }) => session.name)).toEqual(names);
    expect(own[0]).toMatchObject({
      session: { state: 'ACTIVE', title: 'cards-a' },
      card: { kind: 'question', text: 'Which one?', choices: ['A', 'B'] },
    });
    const other = await newOwner(stack, 'cards-of-nobody', 'read');
    const theirs = await call<Page<SessionCard>>(stack, 'GET /api/cards', { token: other });
    expect(theirs.body.items).toEqual([]);
    await stack.spokes.release('RunFinished');
  });
});

describe('POST /api/sessions/{ref}/cards/{card_id}/answer', () => {
  const answer = (ref: string, card: string, body: object) =>
    post(`${ref}/cards/${card}/answer`, body);

  it('takes a choice for the one question, and reaches the run', async () => {
    const id = await atWork('asked');
    const card = await raised('asked', QUESTION);
    expect(card).toMatchObject({
      kind: 'question',
      text: 'Which one?',
      choices: ['A', 'B'],
      turn: 1,
      questions: QUESTION.questions,
      tool: null,
    });
    const done = await answer('asked', card.id, { text: 'B' });
    expect({ status: done.status, attention: done.body.attention }).toEqual({
      status: 202,
      attention: [],
    });
    expect(await logged<Answered>(id, 'CardAnswered')).toMatchObject([
      {
        run_id: `run-${id.slice(4)}-1`,
        ask_id: 'call-1',
        answer: { verdict: 'allow', answers: [{ question_id: 'q1', text: 'B' }], reason: '' },
        answered_by: 'admin',
      },
    ]);
  });

  it('counts once: of many at the same time the first, and the late hear what it was [A2]', async () => {
    const id = await atWork('raced');
    const card = await raised('raced', QUESTION);
    const texts = ['A', 'B', 'neither', 'both', 'later'];
    const all = await Promise.all(texts.map((text) => answer('raced', card.id, { text })));
    expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      202, 409, 409, 409, 409,
    ]);
    const won = texts[all.findIndex(({ status }) => status === 202)]!;
    const [counted, ...more] = await logged<Answered>(id, 'CardAnswered');
    expect({ text: counted?.answer.answers[0]?.text, more }).toEqual({ text: won, more: [] });
    const late = await answer('raced', card.id, { text: 'too late' });
    expect(late.status).toBe(409);
    expect(late.body.detail).toContain('admin answered');
    expect(late.body.detail).toContain(won);
    expect(late.body.hint).toContain('first answer counts');
  });

  it('wants each of several questions answered, by its id', async () => {
    const id = await atWork('several');
    const card = await raised('several', QUESTIONS);
    for (const [body, word] of [
      [{ text: 'large' }, 'size, colour'],
      [{ answers: { size: 'large' } }, 'each question'],
      [{ answers: { size: 'large', weight: '3' } }, 'weight'],
      [{ text: 'large', answers: { size: 'large' } }, 'not both'],
      [{}, 'each question'],
      [{ answers: { size: '' } }, 'answers.size'],
    ] as const) {
      const refused = await answer('several', card.id, body);
      expect({ body, status: refused.status }).toEqual({ body, status: 400 });
      expect(`${refused.body.detail} ${refused.body.hint}`).toContain(word);
    }
    const done = await answer('several', card.id, { answers: { colour: 'red', size: 'large' } });
    expect(done.status).toBe(202);
    const [given] = await logged<Answered>(id, 'CardAnswered');
    expect(given?.answer.answers).toEqual([
      { question_id: 'colour', text: 'red' },
      { question_id: 'size', text: 'large' },
    ]);
  });

  it('leaves a question without an answer with a deny', async () => {
    const id = await atWork('denied');
    const card = await raised('denied', QUESTIONS);
    const done = await answer('denied', card.id, { verdict: 'deny', reason: 'decide yourself' });
    expect(done.status).toBe(202);
    const [given] = await logged<Answered>(id, 'CardAnswered');
    expect(given?.answer).toEqual({ verdict: 'deny', answers: [], reason: 'decide yourself' });
  });

  it.each([
    [{ verdict: 'allow' }, { verdict: 'allow', reason: '' }],
    [{ text: 'allow' }, { verdict: 'allow', reason: '' }],
    [{ text: 'deny' }, { verdict: 'deny', reason: '' }],
    [{ text: 'use the staging host' }, { verdict: 'deny', reason: 'use the staging host' }],
    [
      { verdict: 'deny', reason: 'not now' },
      { verdict: 'deny', reason: 'not now' },
    ],
  ])('decides on a tool call with %j', async (body, wanted) => {
    const name = `leave-${JSON.stringify(body).replace(/[^a-z]+/g, '-')}x`;
    const id = await atWork(name);
    const card = await raised(name, DECISION);
    expect(card).toMatchObject({
      kind: 'decision',
      choices: ['allow', 'deny'],
      tool: { name: 'Bash', input: '{"command":"git push"}' },
    });
    expect((await answer(name, card.id, body)).status).toBe(202);
    const [given] = await logged<Answered>(id, 'CardAnswered');
    expect(given?.answer).toEqual({ ...wanted, answers: [] });
  });

  it('authorises nothing after an interrupt [A4], nor what never was', async () => {
    await atWork('stopped');
    const card = await raised('stopped', DECISION);
    expect((await post('stopped/interrupt?wait=20')).body.attention).toEqual([]);
    const late = await answer('stopped', card.id, { verdict: 'allow' });
    expect({ status: late.status, code: late.body.code }).toEqual({
      status: 409,
      code: 'conflict',
    });
    expect((await answer('stopped', 'card-00000000', { text: 'x' })).status).toBe(404);
    expect((await answer('stopped', 'card-1', { text: 'x' })).status).toBe(400);
  });

  it('wakes a session that suspended on its question, and waits for the turn of it [A2]', async () => {
    await atWork('for-days');
    const card = await raised('for-days', QUESTION);
    stack.spokes.held.delete('RunFinished');
    const asleep = await post('for-days/suspend?wait=20');
    expect(asleep.body).toMatchObject({
      waited: true,
      state: 'SUSPENDED',
      turns: [{ outcome: 'deferred' }],
      attention: [{ id: card.id, turn: 1 }],
    });
    const done = await post(`for-days/cards/${card.id}/answer?wait=20`, { text: 'A' });
    expect(done.body).toMatchObject({ waited: true, state: 'IDLE', attention: [] });
    expect(done.body.turns).toHaveLength(2);
    expect(done.body.turns[1]).toMatchObject({ outcome: 'succeeded' });
    expect(done.body.turns[1]?.message).toContain('Which one?');
    expect(done.body.turns[1]?.message).toContain('A');
  });

  it('is what a wait for the turn ends on [A2]', async () => {
    const made = await call<SessionDocument>(stack, 'POST /api/sessions?wait=20', {
      body: { name: 'told', environment: 'plain', harness: 'fake' },
    });
    stack.spokes.held.add('RunFinished');
    const waiting = post('told/send?wait=25', { message: 'ask me' });
    await eventually(async () => (await get('told')).turns[0]?.started_at);
    await stack.spokes.ask(made.body.id, 1, QUESTION);
    const told = await waiting;
    expect(told.body).toMatchObject({ waited: true, state: 'ACTIVE' });
    expect(told.body.attention).toMatchObject([{ kind: 'question', text: 'Which one?' }]);
  });
});

describe('PUT /api/sessions/{ref}/permissions [A3]', () => {
  const put = (ref: string, body: object) =>
    call<SessionDocument & Problem>(stack, `PUT /api/sessions/${ref}/permissions`, { body });
  const RULES = [
    { tool: 'Read', pattern: '*', verdict: 'allow' },
    { tool: 'Bash', pattern: 'git push*', verdict: 'deny' },
  ];

  it('are shown, and reach the next turn', async () => {
    const id = await atWork('ruled', { permissions: { mode: 'ask' } });
    expect((await get('ruled')).permissions).toEqual({ mode: 'ask', rules: [] });
    const changed = await put('ruled', {
      mode: 'ask',
      rules: [{ tool: 'Read', verdict: 'allow' }, RULES[1]],
    });
    expect({ status: changed.status, permissions: changed.body.permissions }).toEqual({
      status: 200,
      permissions: { mode: 'ask', rules: RULES },
    });
    await send('ruled', 'next', 'queue');
    await stack.spokes.release('RunFinished');
    await eventually(async () => (await get('ruled')).turns[1]?.outcome === 'succeeded');
    const turns = await logged<{ permissions: object }>(id, 'TurnRequested');
    expect(turns.map(({ permissions }) => permissions)).toEqual([
      { mode: 'ask', rules: [] },
      { mode: 'ask', rules: RULES },
    ]);
    expect((await put('ruled', {})).body.permissions).toEqual({ mode: 'all', rules: [] });
  });

  it.each<[string, object, string]>([
    ['an unknown mode', { mode: 'some' }, 'ask'],
    ['an unknown verdict', { rules: [{ tool: 'Bash', verdict: 'maybe' }] }, 'allow'],
    ['a rule without a tool', { rules: [{ tool: '', verdict: 'deny' }] }, 'tool'],
    ['an unknown key', { rules: [{ tool: 'B', verdict: 'deny', colour: 'red' }] }, 'colour'],
    ['too many rules', { rules: Array.from({ length: 101 }, () => RULES[0]) }, '100'],
  ])('refuse %s', async (_, body, word) => {
    const refused = await put('ruled', body);
    expect(refused.status).toBe(400);
    expect(`${refused.body.detail} ${refused.body.hint}`).toContain(word);
  });

  it('are refused where the harness would not ask before it runs a tool', async () => {
    const rules = { permissions: { mode: 'ask' } };
    const asked = { name: 'bound', environment: 'plain', harness: 'pi', ...rules };
    const made = await call<Problem>(stack, 'POST /api/sessions', { body: asked });
    expect(made).toMatchObject({ status: 400, body: { code: 'invalid' } });
    expect(made.body.hint).toContain('claude-code, codex');
    await call(stack, 'POST /api/sessions', { body: { ...asked, permissions: undefined } });
    expect(await put('bound', { mode: 'ask' })).toMatchObject({ status: 400 });
    expect(await put('bound', { rules: [RULES[1]] })).toMatchObject({ status: 400 });
    expect(await put('bound', {})).toMatchObject({ status: 200 });
    const toPi = () => call(stack, 'PUT /api/sessions/ruled/harness', { body: { harness: 'pi' } });
    await put('ruled', { mode: 'ask', rules: RULES });
    expect(await toPi()).toMatchObject({ status: 400 });
    await put('ruled', {});
    expect(await toPi()).toMatchObject({ status: 200 });
  });

  it('of an archived session stay as they are', async () => {
    await post('at-rest/archive');
    expect((await put('at-rest', { mode: 'all' })).status).toBe(409);
  });
});
