import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { HangarClient } from '@hangar/client';
import { HangarError, type EventDocument, type SessionDocument } from '@hangar/contracts';
import { SHAPE, System } from './system.ts';
import {
  TEST_MS_MAX,
  WAIT_SECONDS,
  again,
  defineEnvironment,
  openWorkplace,
  queueing,
  sessionWhere,
  shell,
  until,
  type Workplace,
} from './workplace.ts';

const MESSAGES_QUEUED_MAX = 32;
const PARALLEL_SENDS = 20;
const PARALLEL_OPENS = 20;
/** For a failing test only. */
const TURN_MS_MAX = 6_000;
/** Works until a file tells it to stop, so that a test decides how long a turn is. */
const HELD = '[[ run: echo held >held.txt ;; until: go.txt ;; say: let go ]]';

jest.setTimeout(TEST_MS_MAX);

describe(`a message is delivered exactly once (${SHAPE})`, () => {
  let work: Workplace;
  let system: System;
  let client: HangarClient;

  beforeAll(async () => {
    work = await openWorkplace();
    system = await System.start();
    client = queueing(system.client());
    await defineEnvironment(client, work);
  });

  afterAll(async () => {
    await system?.dispose();
    await work?.dispose();
  });

  const create = (name: string, message?: string): ReturnType<HangarClient['sessions']['create']> =>
    client.sessions.create(
      {
        name,
        environment: 'default',
        harness: 'fake',
        repo: work.repo,
        ...(message ? { message } : {}),
      },
      { waitSeconds: WAIT_SECONDS },
    );

  const codeOf = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'done',
      (error: unknown) => HangarError.from(error).code,
    );

  const eventsOf = async (ref: string, type?: string): Promise<EventDocument[]> =>
    (await client.audit.list({ session: ref, type, limit: 200 })).items;

  const said = (s: SessionDocument): string[] => s.turns.map((turn) => turn.summary);

  const isHeld = (ref: string): Promise<void> =>
    until('the turn is at work', async () => {
      const { state } = await client.sessions.get(ref);
      if (state !== 'ACTIVE') return false;
      const done = await client.sandboxes.exec(ref, { argv: ['test', '-s', 'held.txt'] });
      return done.exit_code === 0;
    });

  const letGo = (ref: string): Promise<string> => shell(client, ref, 'touch go.txt');

  const rests = (ref: string, turns: number): Promise<SessionDocument> =>
    sessionWhere(
      client,
      ref,
      (s) => s.state === 'IDLE' && s.turns.length === turns && s.queue.length === 0,
      turns * TURN_MS_MAX + WAIT_SECONDS * 1000,
    );

  it('the queue is bounded, can be looked at, and each message taken back until it is delivered', async () => {
    await create('queue');
    const first = await client.sessions.send('queue', { message: HELD });
    await isHeld('queue');
    const ids: string[] = [];
    for (let number = 1; number <= MESSAGES_QUEUED_MAX; number += 1) {
      const message = `[[ say: message ${number} ]]`;
      const receipt = await client.sessions.send('queue', { message });
      expect(receipt).toMatchObject({ status: 'queued', mode: 'queue' });
      ids.push(receipt.message_id);
    }
    expect((await client.sessions.get('queue')).queue.map((m) => m.message_id)).toEqual(ids);
    const answer = await fetch(`${system.url}/api/sessions/queue/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${system.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ message: 'one too many' }),
    });
    expect(answer.status).toBe(429);
    expect(await answer.json()).toMatchObject({ code: 'exhausted', hint: expect.any(String) });
    const [kept = '', ...others] = ids;
    const taken = await Promise.all(others.map((id) => client.sessions.takeBack('queue', id)));
    expect(taken.every(({ status }) => status === 'taken_back')).toBe(true);
    expect(await codeOf(client.sessions.takeBack('queue', others[0] ?? ''))).toBe('done');
    expect(await codeOf(client.sessions.takeBack('queue', first.message_id))).toBe('conflict');
    expect(await codeOf(client.sessions.takeBack('queue', 'msg-00000000'))).toBe('not_found');
    await letGo('queue');
    expect(said(await rests('queue', 2))).toEqual(['let go', 'message 1']);
    expect(await codeOf(client.sessions.takeBack('queue', kept))).toBe('conflict');
  });

  it('messages sent in parallel run in the order of the queue, each once', async () => {
    await create('parallel');
    const numbers = Array.from({ length: PARALLEL_SENDS }, (_, index) => index);
    const receipts = await Promise.all(
      numbers.map((n) =>
        client.sessions.send('parallel', {
          message: `[[ run: echo ${n} >>done.txt ;; say: did ${n} ]]`,
        }),
      ),
    );
    expect(new Set(receipts.map((r) => r.message_id)).size).toBe(PARALLEL_SENDS);
    const end = await rests('parallel', PARALLEL_SENDS);
    expect(end.turns.every((turn) => turn.outcome === 'succeeded')).toBe(true);
    const queued = (await eventsOf('parallel', 'MessageQueued')).map((e) => e.data['message_id']);
    expect(end.turns.map((turn) => turn.message_id)).toEqual(queued);
    const order = said(end).map((text) => text.replace('did ', ''));
    expect(await shell(client, 'parallel', 'cat done.txt')).toBe(`${order.join('\n')}\n`);
    expect(order.map(Number).toSorted((a, b) => a - b)).toEqual(numbers);
  });

  it('the same key gives the same answer: in parallel, after kill -9, and not for another body', async () => {
    const body = { name: 'once', environment: 'default', harness: 'fake' };
    const made = await Promise.all(
      Array.from({ length: 8 }, () =>
        client.sessions.create(body, { idempotencyKey: 'create-once' }),
      ),
    );
    expect(new Set(made.map((s) => s.id)).size).toBe(1);
    const message = { message: '[[ run: echo once >>once.txt ;; say: once ]]' };
    const send = (): Promise<{ message_id: string }> =>
      client.sessions.send('once', message, { idempotencyKey: 'send-once' });
    const receipts = await Promise.all(Array.from({ length: 8 }, send));
    expect(new Set(receipts.map((r) => JSON.stringify(r))).size).toBe(1);
    await system.kill();
    await system.up();
    expect(await again(send)).toEqual(receipts[0]);
    const repeated = client.sessions.create(body, { idempotencyKey: 'create-once' });
    expect((await repeated).id).toBe(made[0]?.id);
    const other = { ...body, name: 'twice' };
    expect(await codeOf(client.sessions.create(other, { idempotencyKey: 'create-once' }))).toBe(
      'conflict',
    );
    await rests('once', 1);
    expect(await shell(client, 'once', 'cat once.txt')).toBe('once\n');
  });

  it('a kill -9 right after the answer loses no message', async () => {
    await create('answered');
    for (let number = 1; number <= 3; number += 1)
      await client.sessions.send('answered', { message: `[[ say: message ${number} ]]` });
    await system.kill();
    await system.up();
    expect(said(await rests('answered', 3))).toEqual(['message 1', 'message 2', 'message 3']);
  });

  it('events go on after a restart by Last-Event-ID, without a gap or a repeat', async () => {
    const { id } = await create('stream');
    const stop = new AbortController();
    const seen = { session: [] as EventDocument[], all: [] as EventDocument[] };
    const reconnects: string[] = [];
    // The client comes back by itself for 40 s; a program that is more patient does what this does.
    const follow = async (
      into: EventDocument[],
      events: (options: object) => AsyncGenerator<EventDocument>,
    ): Promise<void> => {
      for (;;) {
        const lastEventId = into.at(-1)?.cursor;
        try {
          const given = lastEventId === undefined ? {} : { lastEventId };
          for await (const event of events({ ...options, ...given })) into.push(event);
        } catch (error) {
          if (HangarError.from(error).code !== 'unavailable') throw error;
        }
      }
    };
    const options = {
      signal: stop.signal,
      onReconnect: (reason: string) => reconnects.push(reason),
    };
    const ended = Promise.allSettled([
      follow(seen.session, (given) => client.events.session(id, { lastEventId: '0', ...given })),
      follow(seen.all, (given) => client.events.all(given)),
    ]);
    await client.sessions.send(id, { message: HELD });
    await isHeld(id);
    const before = (await client.sessions.get(id)).version;
    await until('the events until now came', async () => seen.session.length >= before);
    await system.kill();
    await system.up();
    await again(() => letGo(id));
    const end = await rests(id, 1);
    await until('all events came', async () => seen.session.length >= end.version);
    await until('all of them here too', async () =>
      seen.all.some((e) => e.session_id === id && e.type === 'SessionIdled'),
    );
    stop.abort();
    await ended;
    expect(reconnects.length).toBeGreaterThan(0);
    const numbers = Array.from({ length: end.version }, (_, index) => index + 1);
    expect(seen.session.map((event) => event.version)).toEqual(numbers);
    const inAll = seen.all.filter((e) => e.stream === `session/${id}`).map((e) => e.version);
    expect(inAll).toEqual(numbers.slice(-inAll.length));
    expect(new Set(seen.all.map((e) => e.id)).size).toBe(seen.all.length);
  });

  it('opened many times at once it gets one sandbox [R6]', async () => {
    await create('open', '[[ say: hello ]]');
    await client.sessions.suspend('open', {}, { waitSeconds: WAIT_SECONDS });
    const opened = await Promise.all(
      Array.from({ length: PARALLEL_OPENS }, () =>
        client.sessions.open('open', { waitSeconds: WAIT_SECONDS }),
      ),
    );
    expect(new Set(opened.map((s) => `${s.state} ${s.sandbox_id}`)).size).toBe(1);
    expect(opened[0]?.state).toBe('IDLE');
    expect(await eventsOf('open', 'SandboxProvisionRequested')).toHaveLength(2);
    expect(await eventsOf('open', 'SandboxReady')).toHaveLength(2);
  });

  it('is accepted in every live state, and runs once', async () => {
    const mark = (state: string): { message: string } => ({
      message: `[[ run: echo ${state} >>states.txt ;; say: ${state} ]]`,
    });
    const { id } = await client.sessions.create({
      name: 'states',
      environment: 'default',
      harness: 'fake',
      repo: work.repo,
    });
    const inState = async (state: string): Promise<void> => {
      const session = await client.sessions.get(id);
      expect(session.state).toBe(state);
      await client.sessions.send(id, mark(state));
    };
    await inState('STARTING');
    await rests(id, 1);
    await inState('IDLE');
    await rests(id, 2);
    await client.sessions.send(id, { message: HELD });
    await isHeld(id);
    await inState('ACTIVE');
    await letGo(id);
    await rests(id, 4);
    await client.sessions.suspend(id);
    await client.sessions.send(id, mark('SUSPENDING'));
    await rests(id, 5);
    await client.sessions.suspend(id, {}, { waitSeconds: WAIT_SECONDS });
    await inState('SUSPENDED');
    await client.sessions.send(id, mark('RESUMING'));
    await rests(id, 7);
    await client.sessions.send(id, { message: '[[ hang ]]' });
    const at = await sessionWhere(
      client,
      id,
      (s) => s.turns.length === 8 && s.turns.at(-1)?.started_at !== null,
    );
    await system.killSandbox(at.sandbox_id ?? '');
    await sessionWhere(client, id, (s) => s.state === 'INTERRUPTED');
    await inState('INTERRUPTED');
    await client.sessions.continue(id);
    const end = await rests(id, 9);
    const states = ['STARTING', 'IDLE', 'ACTIVE', 'SUSPENDING', 'SUSPENDED', 'RESUMING'];
    expect(await shell(client, id, 'cat states.txt')).toBe(
      `${[...states, 'INTERRUPTED'].join('\n')}\n`,
    );
    expect(end.turns.filter((t) => t.outcome === 'succeeded')).toHaveLength(8);
    await client.sessions.archive(id);
    expect(await codeOf(client.sessions.send(id, mark('ARCHIVED')))).toBe('conflict');
  });
});
