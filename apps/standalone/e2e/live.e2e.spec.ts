import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { HangarClient } from '@hangar/client';
import type {
  ActivityItem,
  CardDocument,
  DecisionDocument,
  MessageReceipt,
  Page,
  Problem,
  SessionDocument,
} from '@hangar/contracts';
import { SHAPE, System } from './system.ts';
import {
  MODEL,
  TEST_MS_MAX,
  WAIT_SECONDS,
  defineEnvironment,
  openWorkplace,
  sessionWhere,
  shell,
  until,
  type Workplace,
} from './workplace.ts';

/** Works until a file tells it to stop, so that a test decides how long a turn is. */
const HELD = '[[ run: echo held >held.txt ;; until: go.txt ;; say: let go ]]';
const ASKING = '[[ run: echo asked >asked.txt ;; ask: Which fix? | A | B ;; say: and on ]]';

jest.setTimeout(TEST_MS_MAX);

interface Answered<T> {
  status: number;
  body: T;
}

describe(`an agent at work is spoken with (${SHAPE})`, () => {
  let work: Workplace;
  let system: System;
  let client: HangarClient;

  beforeAll(async () => {
    work = await openWorkplace();
    // Every story keeps its session up.
    system = await System.start({ envVars: { HANGAR_MAX_ACTIVE_SESSIONS: '64' } });
    client = system.client();
    await defineEnvironment(client, work);
  });

  afterAll(async () => {
    await system?.dispose();
    await work?.dispose();
  });

  const call = async <T>(line: string, body?: object): Promise<Answered<T>> => {
    const [method = 'GET', path = ''] = line.split(' ');
    const answer = await fetch(`${system.url}/api/sessions/${path}`, {
      method,
      headers: { authorization: `Bearer ${system.token}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: answer.status, body: (await answer.json()) as T };
  };

  const create = (name: string, more: object = {}): Promise<SessionDocument> =>
    client.sessions.create(
      { name, environment: 'default', harness: 'fake', repo: work.repo, ...more },
      { waitSeconds: WAIT_SECONDS },
    );

  const isThere = (ref: string, file: string): Promise<void> =>
    until(`${file} is there`, async () => {
      const { state } = await client.sessions.get(ref);
      if (state !== 'ACTIVE') return false;
      const done = await client.sandboxes.exec(ref, { argv: ['test', '-s', file] });
      return done.exit_code === 0;
    });

  const held = async (name: string): Promise<void> => {
    await create(name);
    await client.sessions.send(name, { message: HELD });
    await isThere(name, 'held.txt');
  };

  const letGo = (ref: string): Promise<string> => shell(client, ref, 'touch go.txt');

  const rests = (ref: string, turns: number): Promise<SessionDocument> =>
    sessionWhere(
      client,
      ref,
      (s) => s.state === 'IDLE' && s.turns.length === turns && s.queue.length === 0,
      WAIT_SECONDS * 1000,
    );

  const card = async (ref: string): Promise<CardDocument> => {
    const session = await sessionWhere(client, ref, (s) => s.attention.length > 0);
    const [first] = session.attention;
    if (!first) throw new Error('unreachable');
    return first;
  };

  const answer = <T = SessionDocument>(
    ref: string,
    cardId: string,
    body: object,
    wait = '',
  ): Promise<Answered<T>> => call(`POST ${ref}/cards/${cardId}/answer${wait}`, body);

  const activity = async (ref: string): Promise<ActivityItem[]> =>
    (await call<Page<ActivityItem>>(`GET ${ref}/activity?limit=200`)).body.items;

  const spoken = async (ref: string): Promise<string[]> =>
    (await activity(ref)).flatMap((item) => (item.type === 'message' ? [item.text ?? ''] : []));

  it('a message to a turn at work steers it, and is delivered into that turn [M3]', async () => {
    await held('steer');
    const sent = await client.sessions.send('steer', { message: '[[ say: steered ]]' });
    expect(sent).toMatchObject({ status: 'queued', becomes: 'steer' });
    const waits = await client.sessions.send('steer', { message: 'after', mode: 'queue' });
    expect(waits).toMatchObject({ status: 'queued', becomes: 'queue' });
    await letGo('steer');
    const end = await rests('steer', 2);
    expect(end.turns.map(({ steered }) => steered.map(({ message_id }) => message_id))).toEqual([
      [sent.message_id],
      [],
    ]);
    expect(await spoken('steer')).toEqual(expect.arrayContaining(['steered', 'let go']));
  });

  it('what was offered to the turn can be taken back until the agent has it [M4]', async () => {
    await held('back');
    const one = await client.sessions.send('back', { message: '[[ say: one ]]' });
    const two = await client.sessions.send('back', { message: '[[ say: two ]]' });
    const back = await call<MessageReceipt>(`DELETE back/queue/${one.message_id}`);
    expect(back).toMatchObject({ status: 200, body: { status: 'taken_back' } });
    await letGo('back');
    const end = await rests('back', 1);
    expect(end.turns[0]?.steered.map(({ message_id }) => message_id)).toEqual([two.message_id]);
    const late = await call<Problem>(`DELETE back/queue/${two.message_id}`);
    expect(late.status).toBe(409);
    expect(await spoken('back')).not.toContain('one');
  });

  it('an interrupt returns what was steered: it is a turn of its own, or taken back [M4] [M8]', async () => {
    await held('cut');
    const sent = await client.sessions.send('cut', { message: '[[ say: later ]]' });
    expect(sent.becomes).toBe('steer');
    await client.sessions.interrupt('cut');
    const end = await rests('cut', 2);
    expect(end.turns.map(({ outcome }) => outcome)).toEqual(['cancelled', 'succeeded']);
    expect(end.turns[1]?.message_id).toBe(sent.message_id);
  });

  it('a steer outlives a kill -9 of everything: delivered exactly once [M2] [M6]', async () => {
    await held('crash');
    const sent = await client.sessions.send('crash', { message: '[[ say: once ]]' });
    await system.kill();
    await system.up();
    await letGo('crash');
    // Let go before it could be offered again, the turn ends without it, and it is the next one.
    const end = await sessionWhere(
      client,
      'crash',
      (session) => session.state === 'IDLE' && session.queue.length === 0,
    );
    const had = end.turns.flatMap((turn) => [
      turn.message_id,
      ...turn.steered.map(({ message_id }) => message_id),
    ]);
    expect(had.filter((id) => id === sent.message_id)).toHaveLength(1);
    expect((await spoken('crash')).filter((text) => text === 'once')).toHaveLength(1);
  });

  it('a question is a card; of two answers at once one wins and the other hears of it [A1] [A2]', async () => {
    await create('ask', { message: ASKING });
    const asked = await card('ask');
    expect(asked).toMatchObject({ kind: 'question', text: 'Which fix?', choices: ['A', 'B'] });
    const answers = await Promise.all([
      answer<Problem>('ask', asked.id, { text: 'A' }),
      answer<Problem>('ask', asked.id, { text: 'B' }),
    ]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 409]);
    const end = await rests('ask', 1);
    const won = answers.findIndex(({ status }) => status === 202) === 0 ? 'A' : 'B';
    expect(await spoken('ask')).toContain(`answered: ${won}`);
    expect(end.attention).toEqual([]);
    const late = await answer<Problem>('ask', asked.id, { text: 'A' });
    expect(late.status).toBe(409);
    expect(late.body.detail).toContain(won);
  });

  it('a question waits over a suspend, a kill -9 and a fresh sandbox; the answer resumes it [A2]', async () => {
    const { sandbox_id } = await create('days', { message: ASKING });
    const asked = await card('days');
    await client.sessions.suspend('days', {}, { waitSeconds: WAIT_SECONDS });
    const suspended = await sessionWhere(client, 'days', (s) => s.state === 'SUSPENDED');
    expect(suspended.attention.map(({ id }) => id)).toEqual([asked.id]);
    expect(suspended.turns[0]?.outcome).toBe('deferred');
    await system.kill();
    await system.up();
    const given = await answer('days', asked.id, { text: 'B' }, `?wait=${WAIT_SECONDS}`);
    expect(given.status).toBe(200);
    const end = await rests('days', 2);
    expect(end.sandbox_id).not.toBe(sandbox_id);
    expect(await spoken('days')).toEqual(expect.arrayContaining(['answered: B', 'and on']));
  });

  it('a card stays open over a kill -9 of everything, and its answer reaches the same process', async () => {
    await create('open', { message: ASKING });
    const asked = await card('open');
    await system.kill();
    await system.up();
    expect((await card('open')).id).toBe(asked.id);
    await answer('open', asked.id, { text: 'A' }, `?wait=${WAIT_SECONDS}`);
    await rests('open', 1);
    expect(await spoken('open')).toContain('answered: A');
  });

  it('after a cancel the old card authorises nothing [A4]', async () => {
    await create('void', { message: ASKING });
    const asked = await card('void');
    await client.sessions.interrupt('void', { waitSeconds: WAIT_SECONDS });
    const end = await rests('void', 1);
    expect(end.attention).toEqual([]);
    expect((await answer('void', asked.id, { text: 'A' })).status).toBe(409);
  });

  it('tool calls are decided by rule, or by a person, and every decision is on record [A3]', async () => {
    const permissions = {
      mode: 'ask',
      rules: [
        { tool: '*', pattern: 'echo free*', verdict: 'allow' },
        { tool: '*', pattern: '*forbidden*', verdict: 'deny' },
      ],
    };
    const message =
      '[[ run: echo free >free.txt ++ run: echo forbidden >no.txt ++ run: echo asked >yes.txt ;; say: done ]]';
    await create('leave', { permissions, message });
    const asked = await card('leave');
    expect(asked).toMatchObject({ kind: 'decision', choices: ['allow', 'deny'] });
    expect(asked.tool?.input).toContain('echo asked');
    await answer('leave', asked.id, { verdict: 'allow' }, `?wait=${WAIT_SECONDS}`);
    await rests('leave', 1);
    expect(await shell(client, 'leave', 'ls *.txt | tr "\\n" " "')).not.toContain('no.txt');
    expect(await shell(client, 'leave', 'cat free.txt yes.txt')).toBe('free\nasked\n');
    const { body } = await call<Page<DecisionDocument>>('GET leave/decisions');
    expect(body.items.map(({ verdict, decided_by }) => [verdict, decided_by])).toEqual([
      ['allow', 'rule 1'],
      ['deny', 'rule 2'],
      ['allow', 'person'],
    ]);
  });

  it('activity is live, and whole for whoever comes late', async () => {
    const { id } = await create('watch');
    const seen: ActivityItem[] = [];
    const stop = new AbortController();
    const stream = await fetch(`${system.url}/api/sessions/${id}/activity/live?last_event_id=0`, {
      headers: { authorization: `Bearer ${system.token}` },
      signal: stop.signal,
    });
    const reading = (async () => {
      let text = '';
      for await (const chunk of stream.body ?? []) {
        text += Buffer.from(chunk).toString('utf8');
        const events = text.split('\n\n');
        text = events.pop() ?? '';
        for (const event of events) {
          const data = /^data: (.*)$/m.exec(event)?.[1];
          if (data && event.includes('id: ')) seen.push(JSON.parse(data) as ActivityItem);
        }
      }
    })().catch(() => undefined);
    await client.sessions.send('watch', { message: HELD });
    await isThere('watch', 'held.txt');
    await until('the tool call is seen while the turn runs', async () =>
      seen.some(({ type, input }) => type === 'tool_started' && input?.includes('held.txt')),
    );
    await letGo('watch');
    await rests('watch', 1);
    await until('the end is seen', async () => seen.some(({ type }) => type === 'ended'));
    stop.abort();
    await reading;
    expect(seen).toEqual(await activity('watch'));
    expect(seen.map(({ type }) => type)).toEqual([
      'delivered',
      'tool_started',
      'tool_finished',
      'message',
      'ended',
    ]);
    expect(seen.at(-1)?.usage?.output_tokens).toBeGreaterThan(0);
  });

  it('text is seen while it is being written, before its turn ends', async () => {
    await create('writes');
    const stop = new AbortController();
    const follow = client.activity.follow('writes', { lastEventId: '0', signal: stop.signal });
    await client.sessions.send('writes', { message: '[[ clock: go.txt ]]' });
    let seen = '';
    for await (const moment of follow) {
      if ('delta' in moment) seen += moment.delta.delta;
      if (seen.split(' ').length > 5) break;
    }
    const { state, turns } = await client.sessions.get('writes');
    expect([state, turns[0]?.finished_at]).toEqual(['ACTIVE', null]);
    await letGo('writes');
    await rests('writes', 1);
    const [whole = ''] = await spoken('writes');
    expect(whole).toContain(seen);
    stop.abort();
  });

  // The CLIs are the same on both shapes, and so is all that lies between them and a run: once is enough.
  const real = SHAPE === 'standalone' ? (['claude-code', 'codex', 'pi'] as const) : [];
  if (real.length > 0)
    describe.each(real)('with the real %s', (harness) => {
      const start = (name: string, message: string, more: object = {}): Promise<SessionDocument> =>
        create(`${name}-${harness}`, { harness, model: MODEL[harness], message, ...more });

      // Codex takes its command back while it runs here; its adapter's suite shows the steer.
      if (harness !== 'codex')
        it('a steer in a tool call is delivered into the turn, once [M3]', async () => {
          const name = `steer-${harness}`;
          await create(name, { harness, model: MODEL[harness] });
          // Sent apart: a creation waits for the end of its own message's turn, which is held here.
          await client.sessions.send(name, {
            message:
              '[[ run: echo held >held.txt; until [ -e go.txt ]; do sleep 0.1; done ;; say: first end ]]',
          });
          await isThere(name, 'held.txt');
          const sent = await client.sessions.send(name, {
            message: 'also do this [[ say: steered ]]',
          });
          expect(sent.becomes).toBe('steer');
          await letGo(name);
          const end = await rests(name, 1);
          expect(end.turns[0]?.steered.map(({ message_id }) => message_id)).toEqual([
            sent.message_id,
          ]);
          const told = work.model
            .requests()
            .filter(({ userTexts }) => userTexts.some((text) => text.includes('also do this')));
          expect(told.length).toBeGreaterThan(0);
        });

      it('a question is answered in the live process [A2]', async () => {
        const name = `ask-${harness}`;
        await start('ask', '[[ ask: Which fix? | A | B ;; say: and on ]]');
        const asked = await card(name);
        expect(asked).toMatchObject({ kind: 'question', choices: ['A', 'B'] });
        await answer(name, asked.id, { text: 'B' }, `?wait=${WAIT_SECONDS}`);
        const end = await rests(name, 1);
        expect(end.turns[0]).toMatchObject({ outcome: 'succeeded', summary: 'and on' });
        expect(JSON.stringify(work.model.requests().slice(-3))).toContain('B');
      });

      it('a question waits over a suspend and is answered in a fresh sandbox [A2]', async () => {
        const name = `days-${harness}`;
        await start('days', '[[ ask: Which fix? | A | B ;; say: and on ]]');
        const asked = await card(name);
        await client.sessions.suspend(name, {}, { waitSeconds: WAIT_SECONDS });
        await sessionWhere(client, name, (s) => s.state === 'SUSPENDED');
        await answer(name, asked.id, { text: 'B' }, `?wait=${WAIT_SECONDS}`);
        const end = await rests(name, 2);
        expect(end.turns.map(({ outcome }) => outcome)).toEqual(['deferred', 'succeeded']);
        expect(end.conversation).toBe('native');
        expect(end.attention).toEqual([]);
      });

      it('a tool call that is denied does not run, and the reason reaches the model [A3]', async () => {
        const name = `leave-${harness}`;
        await start('leave', '[[ run: touch made.txt ;; say: done ]]', {
          permissions: { mode: 'ask', rules: [] },
        });
        const asked = await card(name);
        expect(asked.kind).toBe('decision');
        await answer(name, asked.id, { verdict: 'deny', reason: 'not on a Friday' });
        await rests(name, 1);
        expect(await shell(client, name, 'ls')).not.toContain('made.txt');
        const { body } = await call<Page<DecisionDocument>>(`GET ${name}/decisions`);
        expect(body.items).toMatchObject([{ verdict: 'deny', decided_by: 'person' }]);
      });
    });
});
