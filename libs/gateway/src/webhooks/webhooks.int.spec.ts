import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  WEBHOOKS_PER_OWNER_MAX,
  type CreatedWebhook,
  type DeliveryDocument,
  type EventDocument,
  type Page,
  type Problem,
  type SessionDocument,
  type WebhookDetails,
  type WebhookDocument,
} from '@hangar/contracts';
import { Vault } from '@hangar/service-kit';
import { createFakeClock, eventually, type FakeClock } from '@hangar/testing';
import { call, newOwner, type Answered } from '../testing/http.ts';
import { answer, hang, isSigned, Receiver } from '../testing/receiver.ts';
import { startGatewayStack, TEST_SETTINGS, type GatewayStack } from '../testing/stack.ts';
import { RETRY_PAUSES_MS } from './retry.ts';

let stack: GatewayStack;
let receiver: Receiver;
let clock: FakeClock;
let ada: string;
let bob: string;
const deadlines: AbortController[] = [];
const names: Record<string, string[]> = {};
const options = {
  settings: { ...TEST_SETTINGS, webhookPrivate: 'true' as const },
  webhookWorld: {
    now: () => clock.now(),
    deadline: () => {
      deadlines.push(new AbortController());
      return deadlines.at(-1)!.signal;
    },
    resolve: (host: string) => Promise.resolve(names[host] ?? []),
  },
};

beforeAll(async () => {
  clock = createFakeClock(new Date().toISOString());
  stack = await startGatewayStack();
  await stack.stopGateway();
  await stack.start(options);
  [ada, bob] = [await newOwner(stack, 'ada'), await newOwner(stack, 'bob')];
  for (const token of [ada, bob]) {
    await call(stack, 'POST /api/environments', { body: { name: 'empty' }, token });
  }
}, 120_000);
afterAll(() => stack.close(), 60_000);
beforeEach(async () => {
  receiver = await Receiver.start();
});
afterEach(async () => {
  for (const token of [ada, bob]) {
    const { body } = await call<{ items: WebhookDocument[] }>(stack, 'GET /api/webhooks', {
      token,
    });
    for (const { name } of body.items) await call(stack, `DELETE /api/webhooks/${name}`, { token });
  }
  await receiver.close();
});

let made = 0;
async function create(body: Record<string, unknown> = {}, token = ada): Promise<CreatedWebhook> {
  made += 1;
  const given = { name: `hook-${made}`, url: receiver.url(), ...body };
  const created = await call<CreatedWebhook>(stack, 'POST /api/webhooks', { body: given, token });
  expect({ status: created.status, body: created.body }).toMatchObject({ status: 201 });
  return created.body;
}

const get = async (name: string, token = ada, query = ''): Promise<WebhookDetails> =>
  (await call<WebhookDetails>(stack, `GET /api/webhooks/${name}${query}`, { token })).body;

const test = (name: string, token = ada): Promise<Answered<DeliveryDocument>> =>
  call<DeliveryDocument>(stack, `POST /api/webhooks/${name}/test`, { token });

/** The newest delivery, once it is as asked. */
const newest = (name: string, wanted: Partial<DeliveryDocument>): Promise<DeliveryDocument> =>
  eventually(async () => {
    const [first] = (await get(name)).deliveries;
    const isSo = Object.entries(wanted).every(
      ([key, value]) => first?.[key as keyof DeliveryDocument] === value,
    );
    return isSo ? first : undefined;
  });

/** The newest delivery, once a try of it has failed. */
const failedOnce = (name: string): Promise<DeliveryDocument> =>
  eventually(async () => {
    const [first] = (await get(name)).deliveries;
    return first?.attempts === 1 && first.last_error !== null ? first : undefined;
  });

/** A session whose turn runs until the test ends it. */
async function busySession(name: string, token = ada): Promise<SessionDocument> {
  stack.spokes.held.add('RunFinished');
  const body = { name, environment: 'empty', harness: 'fake', message: 'go' };
  const { body: session } = await call<SessionDocument>(stack, 'POST /api/sessions', {
    body,
    token,
  });
  // The harness has its message: what tells of that is behind, so that the test's word is next.
  const run = `run/run-${session.id.slice('ses-'.length)}-1`;
  await eventually(async () => {
    const sql = 'select from es.stream where id = $1 and version = 2';
    return (await stack.log.pool.query(sql, [run])).rowCount === 1;
  });
  return session;
}

/** Its turn is cut: the session gets a card. */
async function interruptedSession(name: string, token = ada): Promise<SessionDocument> {
  const session = await busySession(name, token);
  await stack.spokes.loseRun(session.id, 1);
  return eventually(async () => {
    const at = `GET /api/sessions/${name}`;
    const { body: now } = await call<SessionDocument>(stack, at, { token });
    return now.attention.length > 0 ? now : undefined;
  });
}

/** Everything that was committed has been seen by the consumer of webhooks. */
const settled = (): Promise<true> =>
  eventually(async () => {
    const { rows } = await stack.log.pool.query<{ n: number }>(
      `select count(*)::int as n from es.stream s
      left join es.inbox i on i.stream_id = s.id and i.consumer = 'gateway-webhooks'
      where s.aggregate = 'session' and s.version > coalesce(i.version, 0)`,
    );
    return rows[0]?.n === 0;
  });

describe('POST /api/webhooks', () => {
  it('gives the signing secret once; nothing else ever shows it [Z2]', async () => {
    const created = await create({ name: 'pager', url: receiver.url('/T0/secret-path?key=k1') });
    expect(created).toMatchObject({ name: 'pager', events: ['attention'], state: 'active' });
    expect(created.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const key = created.secret.slice('whsec_'.length);
    const shown = [
      await call(stack, 'GET /api/webhooks', { token: ada }),
      await call(stack, 'GET /api/webhooks/pager', { token: ada }),
      await call(stack, 'GET /api/audit', { token: ada }),
    ];
    expect(shown.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(JSON.stringify(shown.map(({ body }) => body))).not.toContain(key);
    const { rows } = await stack.log.pool.query<{ text: string }>(
      'select w::text as text from gateway.webhook w',
    );
    const [row] = rows;
    expect(row?.text).toContain('pager');
    expect(row?.text).not.toContain(Buffer.from('secret-path').toString('hex'));
    expect(row?.text).not.toContain('secret-path');
  });

  it('is in the audit, as is its end, without path, query or secret [L1]', async () => {
    await create({ name: 'audited', url: receiver.url('/T0/secret-path?key=k1') });
    await call(stack, 'DELETE /api/webhooks/audited', { token: ada });
    const { body } = await call<Page<EventDocument>>(stack, 'GET /api/audit', { token: ada });
    const ours = body.items.filter(({ data }) => data['name'] === 'audited');
    expect(ours.map(({ type, stream, data }) => ({ type, stream, data }))).toEqual(
      expect.arrayContaining([
        {
          type: 'WebhookCreated',
          stream: 'access/ada',
          data: {
            owner: 'ada',
            name: 'audited',
            host: `127.0.0.1:${receiver.port}`,
            events: ['attention'],
          },
        },
        { type: 'WebhookDeleted', stream: 'access/ada', data: { owner: 'ada', name: 'audited' } },
      ]),
    );
    expect(JSON.stringify(body)).not.toContain('secret-path');
  });

  it('makes one webhook for one Idempotency-Key, with one secret [M2]', async () => {
    const headers = { 'idempotency-key': 'hook-key-1' };
    const body = { name: 'once', url: receiver.url() };
    const ask = (more = {}) =>
      call<CreatedWebhook>(stack, 'POST /api/webhooks', {
        body: { ...body, ...more },
        token: ada,
        headers,
      });
    const answers = await Promise.all([ask(), ask(), ask()]);
    answers.push(await ask());
    expect(new Set(answers.map((one) => one.body.secret)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect((await ask({ name: 'other' })).status).toBe(409);
    expect(
      (await call<{ items: [] }>(stack, 'GET /api/webhooks', { token: ada })).body.items,
    ).toHaveLength(1);
  });

  it.each([
    [{ url: 'ftp://example.com/' }, 'url'],
    [{ url: 'https://user:pass@example.com/' }, 'url'],
    [{ url: 'example.com' }, 'url'],
    [{ name: 'Not A Slug' }, 'name'],
    [{ events: [] }, 'events'],
    [{ events: ['attention', 'attention'] }, 'events'],
    [{ events: ['everything'] }, 'events'],
    [{ more: 1 }, 'more'],
    [{ url: 'http://169.254.169.254/latest/meta-data/' }, '169.254.169.254'],
  ])('refuses %j', async (change, named) => {
    const body = { name: 'wrong', url: 'https://example.com/', ...change };
    const refused = await call<Problem>(stack, 'POST /api/webhooks', { body, token: ada });
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).toContain(named);
  });

  it('refuses a URL that is too long', async () => {
    const body = { name: 'long', url: `https://example.com/${'x'.repeat(2000)}` };
    const refused = await call<Problem>(stack, 'POST /api/webhooks', { body, token: ada });
    expect(refused.status).toBe(400);
  });

  it('refuses a name twice, and more than an owner may have', async () => {
    await create({ name: 'first' });
    const again = await call<Problem>(stack, 'POST /api/webhooks', {
      body: { name: 'first', url: receiver.url() },
      token: ada,
    });
    expect(again.status).toBe(409);
    expect(again.body.hint).toContain('another name');
    for (let n = 1; n < WEBHOOKS_PER_OWNER_MAX; n += 1) await create();
    const over = await call<Problem>(stack, 'POST /api/webhooks', {
      body: { name: 'over', url: receiver.url() },
      token: ada,
    });
    expect(over.status).toBe(429);
    expect(over.body.hint).toContain('Delete one');
  });
});

describe('an owner [Z1]', () => {
  it('neither sees nor touches the webhooks of another: not found', async () => {
    const { name } = await create();
    const delivery = 'dlv-0000000000000000';
    for (const [at, body] of [
      [`GET /api/webhooks/${name}`, undefined],
      [`DELETE /api/webhooks/${name}`, undefined],
      [`POST /api/webhooks/${name}/test`, {}],
      [`POST /api/webhooks/${name}/redeliver`, { delivery }],
    ] as const) {
      const refused = await call<Problem>(stack, at, { token: bob, body });
      expect({ at, status: refused.status }).toEqual({ at, status: 404 });
      expect(refused.body.hint).toContain('/api/webhooks');
    }
    expect(
      (await call<{ items: [] }>(stack, 'GET /api/webhooks', { token: bob })).body.items,
    ).toEqual([]);
    expect((await create({ name }, bob)).name).toBe(name);
  });

  it('hears of own sessions only', async () => {
    const [own, foreign] = [await create(), await create({}, bob)];
    await interruptedSession('of-ada');
    await newest(own.name, { state: 'delivered' });
    await settled();
    expect((await get(foreign.name, bob)).deliveries).toEqual([]);
    expect(receiver.types).toEqual(['card.raised']);
    expect(receiver.received[0]?.payload.data.owner).toBe('ada');
  });
});

describe('what is sent', () => {
  it('is the card, signed, and that it was cleared', async () => {
    const { name, secret } = await create();
    const session = await interruptedSession('with-card');
    const [card] = session.attention;
    await call(stack, `POST /api/sessions/${session.id}/rename`, {
      body: { name: 'renamed' },
      token: ada,
    });
    await call(stack, `POST /api/sessions/${session.id}/continue`, { token: ada });
    await receiver.gets(2);
    const [raised, cleared] = receiver.received;
    const of = { session_id: session.id, owner: 'ada' };
    const shown = { id: card!.id, kind: 'interrupted', text: card!.text, since: card!.since };
    expect(raised?.payload).toMatchObject({
      type: 'card.raised',
      data: { ...of, session_name: 'with-card', card: { ...shown, choices: card!.choices } },
    });
    expect(cleared?.payload).toMatchObject({
      type: 'card.cleared',
      data: { ...of, session_name: 'renamed', card: shown },
    });
    for (const received of receiver.received) {
      expect(isSigned(received, secret)).toBe(true);
      expect(isSigned({ ...received, body: `${received.body} ` }, secret)).toBe(false);
      expect(received.headers['content-type']).toBe('application/json');
      expect(Number(received.headers['webhook-timestamp'])).toBe(
        Math.floor(clock.now().getTime() / 1000),
      );
    }
    const { deliveries } = await get(name);
    expect(deliveries.map(({ id }) => id)).toEqual([...receiver.ids].reverse());
  });

  it('are ends of turns and failures for those who asked for them, and nothing for others', async () => {
    const turns = await create({ events: ['turn.finished', 'session.failed'] });
    const cards = await create();
    const { id } = await busySession('asked-for');
    await stack.spokes.release('RunFinished');
    await newest(turns.name, { state: 'delivered', type: 'turn.finished' });
    await settled();
    expect(receiver.received.map(({ payload }) => payload)).toEqual([
      {
        type: 'turn.finished',
        timestamp: expect.any(String) as unknown,
        data: {
          session_id: id,
          session_name: 'asked-for',
          owner: 'ada',
          turn: 1,
          outcome: 'succeeded',
          summary: 'did turn 1',
          error: null,
        },
      },
    ]);
    expect((await get(cards.name)).deliveries).toEqual([]);
  });

  it('is sent once, and nothing from before the webhook, though every event arrives again [O2]', async () => {
    await interruptedSession('before');
    await settled();
    const { name } = await create();
    await interruptedSession('after');
    const { id } = await newest(name, { state: 'delivered' });
    await settled();
    await stack.stopGateway();
    await stack.log.pool.query("delete from es.inbox where consumer = 'gateway-webhooks'");
    await stack.start(options);
    await settled();
    expect((await get(name)).deliveries.map((one) => one.id)).toEqual([id]);
    // Whatever was written before this one is sent before it.
    await test(name);
    await receiver.gets(2);
    expect(receiver.types).toEqual(['card.raised', 'webhook.test']);
    expect(receiver.received[0]?.payload.data).toMatchObject({ session_name: 'after' });
  });

  it('goes to the address that was checked, under the name that was given', async () => {
    names['hooks.example'] = ['127.0.0.1'];
    const { name } = await create({ url: `http://hooks.example:${receiver.port}/x` });
    await test(name);
    const [received] = await receiver.gets(1);
    expect(received?.headers.host).toBe(`hooks.example:${receiver.port}`);
  });

  it('never goes to a name that leads to the metadata address [X9]', async () => {
    names['metadata.example'] = ['127.0.0.1', '169.254.169.254'];
    const { name } = await create({ url: `http://metadata.example:${receiver.port}/` });
    await test(name);
    const failed = await failedOnce(name);
    expect(failed.last_error).toContain('169.254.169.254, which is refused');
    expect(receiver.received).toEqual([]);
  });
});

describe('a try that fails', () => {
  it.each([
    ['after 500', answer(500), 'answered 500', 500],
    [
      'after a redirect, which is not followed',
      answer(302, { location: '/elsewhere' }),
      'answered 302',
      302,
    ],
  ])('%s is followed by another, later, under the same id', async (_, behaviour, error, status) => {
    receiver.behave = behaviour;
    const { name, secret } = await create();
    const { body } = await test(name);
    const failed = await newest(name, { attempts: 1, last_error: error });
    expect(failed).toMatchObject({ id: body.id, state: 'waiting', last_status: status });
    const nextAt = clock.now().getTime() + RETRY_PAUSES_MS[0]!;
    expect(Date.parse(failed.next_at!)).toBe(nextAt);
    receiver.behave = answer(200);
    clock.advance(RETRY_PAUSES_MS[0]! - 1);
    // What is sent now shows that the other was looked at, and is not due.
    const other = await create({ url: receiver.url('/other') });
    await test(other.name);
    await newest(other.name, { state: 'delivered' });
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook', '/other']);
    receiver.received.pop();
    clock.advance(1);
    await newest(name, { state: 'delivered', attempts: 2, last_error: null, last_status: 200 });
    expect(receiver.ids).toEqual([body.id, body.id]);
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook', '/hook']);
    const [first, second] = receiver.received;
    expect(first?.body).toBe(second?.body);
    expect(first?.headers['webhook-signature']).not.toBe(second?.headers['webhook-signature']);
    expect(receiver.received.every((one) => isSigned(one, secret))).toBe(true);
  });

  it('because nobody answers in time is cut, and followed by another', async () => {
    receiver.behave = hang;
    const { name } = await create();
    await test(name);
    await receiver.gets(1);
    deadlines.at(-1)!.abort();
    await newest(name, { attempts: 1, last_error: 'no answer within 10 s', last_status: null });
    receiver.behave = answer(200);
    clock.advance(RETRY_PAUSES_MS[0]!);
    await newest(name, { state: 'delivered', attempts: 2 });
  });

  it('because nobody is there says so', async () => {
    const gone = await Receiver.start();
    const { name } = await create({ url: gone.url('/T0/secret-path') });
    await gone.close();
    await test(name);
    const failed = await failedOnce(name);
    expect(failed.last_error).toContain('ECONNREFUSED');
    expect(failed.last_error).not.toContain('secret-path');
  });

  it('for the tenth time is dead; redeliver gives it all its tries again', async () => {
    receiver.behave = answer(503);
    const { name } = await create();
    const { body } = await test(name);
    for (const [i, pauseMs] of RETRY_PAUSES_MS.entries()) {
      const failed = await newest(name, { attempts: i + 1, last_status: 503 });
      expect(failed.state).toBe('waiting');
      clock.advance(pauseMs);
      await receiver.gets(i + 2);
    }
    const dead = await newest(name, { state: 'dead' });
    expect(dead).toMatchObject({ id: body.id, attempts: 10, next_at: null, last_status: 503 });
    expect((await get(name, ada, '?state=dead')).deliveries).toHaveLength(1);
    expect((await get(name, ada, '?state=waiting')).deliveries).toEqual([]);
    receiver.behave = answer(200);
    const at = `POST /api/webhooks/${name}/redeliver`;
    const again = await call<DeliveryDocument>(stack, at, {
      body: { delivery: body.id },
      token: ada,
    });
    expect(again).toMatchObject({ status: 202, body: { state: 'waiting', attempts: 0 } });
    await newest(name, { state: 'delivered', attempts: 1 });
    expect(new Set(receiver.ids)).toEqual(new Set([body.id]));
    const late = await call<Problem>(stack, at, { body: { delivery: body.id }, token: ada });
    expect(late).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('delivered') as unknown },
    });
    const unknown = { delivery: 'dlv-0000000000000000' };
    expect((await call(stack, at, { body: unknown, token: ada })).status).toBe(404);
    expect((await call(stack, at, { body: { delivery: 'x' }, token: ada })).status).toBe(400);
  });

  it('with 410 disables the webhook: nothing is sent to it any more', async () => {
    receiver.behave = answer(500);
    const { name } = await create();
    await test(name);
    await newest(name, { attempts: 1, last_status: 500 });
    receiver.behave = answer(410);
    await test(name);
    await newest(name, { state: 'dead', last_status: 410 });
    const { state, disabled_at, deliveries } = await get(name);
    expect({ state, isDated: disabled_at !== null }).toEqual({ state: 'disabled', isDated: true });
    expect(deliveries.map((one) => one.state)).toEqual(['dead', 'dead']);
    expect(deliveries[1]?.last_error).toContain('410');
    await interruptedSession('after-410');
    await settled();
    clock.advance(RETRY_PAUSES_MS[0]!);
    expect((await get(name)).deliveries).toHaveLength(2);
    const refused = await call<Problem>(stack, `POST /api/webhooks/${name}/test`, { token: ada });
    expect(refused.status).toBe(409);
    expect(refused.body.hint).toContain('create it again');
    expect(receiver.received).toHaveLength(2);
  });
});

describe('DELETE /api/webhooks/:name', () => {
  it('ends its deliveries; a new one of the same name starts anew, with another secret', async () => {
    receiver.behave = answer(500);
    const old = await create({ name: 'reborn' });
    await test('reborn');
    await newest('reborn', { attempts: 1, last_status: 500 });
    expect((await call(stack, 'DELETE /api/webhooks/reborn', { token: ada })).status).toBe(204);
    expect((await call(stack, 'DELETE /api/webhooks/reborn', { token: ada })).status).toBe(404);
    const young = await create({ name: 'reborn' });
    expect(young.secret).not.toBe(old.secret);
    expect((await get('reborn')).deliveries).toEqual([]);
    receiver.behave = answer(200);
    clock.advance(RETRY_PAUSES_MS[0]!);
    await test('reborn');
    await newest('reborn', { state: 'delivered' });
    expect(receiver.received).toHaveLength(2);
    expect(isSigned(receiver.received[1]!, young.secret)).toBe(true);
  });
});

describe('POST /api/webhooks/:name/test', () => {
  it('sends one event for one Idempotency-Key [M2]', async () => {
    const { name } = await create();
    const ask = () =>
      call<DeliveryDocument>(stack, `POST /api/webhooks/${name}/test`, {
        token: ada,
        headers: { 'idempotency-key': `test-${name}` },
      });
    const answers = await Promise.all([ask(), ask()]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    await newest(name, { state: 'delivered' });
    expect((await get(name)).deliveries).toHaveLength(1);
    expect(receiver.types).toEqual(['webhook.test']);
  });
});

describe('without HANGAR_WEBHOOK_PRIVATE', () => {
  it('private addresses are refused: at once as such, at the try behind a name [X9]', async () => {
    names['inside.example'] = ['10.0.0.1'];
    await stack.stopGateway();
    await stack.start({ ...options, settings: TEST_SETTINGS });
    for (const host of ['127.0.0.1', '2130706433', '[::1]', '10.1.2.3', '[fd00::1]']) {
      const refused = await call<Problem>(stack, 'POST /api/webhooks', {
        body: { name: 'inside', url: `http://${host}:${receiver.port}/` },
        token: ada,
      });
      expect({ host, status: refused.status }).toEqual({ host, status: 400 });
      expect(refused.body.hint).toContain('HANGAR_WEBHOOK_PRIVATE');
    }
    names['loop.example'] = ['127.0.0.1'];
    const { name } = await create({ url: `http://loop.example:${receiver.port}/` });
    await test(name);
    const failed = await failedOnce(name);
    expect(failed.last_error).toContain('127.0.0.1, which is refused');
    expect(receiver.received).toEqual([]);
  });
});

describe('a rotation of the vault key', () => {
  it('seals webhooks anew at the start, and the old key can go [C4]', async () => {
    const [old, young] = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)];
    const body = { name: 'sealed', url: receiver.url() };
    await stack.stopGateway();
    await stack.start({ ...options, vault: new Vault([old]) });
    const { name, secret } = await create(body);
    await stack.stopGateway();
    await stack.start({ ...options, vault: new Vault([young, old]) });
    await eventually(async () => {
      const { rows } = await stack.log.pool.query<{ sealed: Buffer }>(
        'select sealed from gateway.webhook',
      );
      return rows.every(({ sealed }) => !new Vault([young]).isStale(sealed));
    });
    await stack.stopGateway();
    await stack.start({ ...options, vault: new Vault([young]) });
    await test(name);
    const [received] = await receiver.gets(1);
    expect(isSigned(received!, secret)).toBe(true);
  });
});
