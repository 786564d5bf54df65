import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  WEBHOOKS_PER_OWNER_MAX,
  type CreatedWebhook,
  type DeliveryDocument,
  type EventDocument,
  type Page,
  type Problem,
} from '@hangar/contracts';
import { call } from '../testing/http.ts';
import { answer, isSigned } from '../testing/receiver.ts';
import { TEST_SETTINGS } from '../testing/stack.ts';
import { WebhookBench } from '../testing/webhook-bench.ts';
import { RETRY_PAUSES_MS } from './retry.ts';

let bench: WebhookBench;
beforeAll(async () => {
  bench = await WebhookBench.start();
}, 120_000);
afterAll(() => bench.stack.close(), 60_000);
beforeEach(() => bench.beforeEach());
afterEach(() => bench.afterEach());

describe('POST /api/webhooks', () => {
  it('gives the signing secret once; nothing else ever shows it [Z2]', async () => {
    const created = await bench.create({
      name: 'pager',
      url: bench.receiver.url('/T0/secret-path?key=k1'),
    });
    expect(created).toMatchObject({ name: 'pager', events: ['attention'], state: 'active' });
    expect(created.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const key = created.secret.slice('whsec_'.length);
    const shown = [
      await call(bench.stack, 'GET /api/webhooks', { token: bench.ada }),
      await call(bench.stack, 'GET /api/webhooks/pager', { token: bench.ada }),
      await call(bench.stack, 'GET /api/audit', { token: bench.ada }),
    ];
    expect(shown.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(JSON.stringify(shown.map(({ body }) => body))).not.toContain(key);
    const { rows } = await bench.stack.log.pool.query<{ text: string }>(
      'select w::text as text from gateway.webhook w',
    );
    const [row] = rows;
    expect(row?.text).toContain('pager');
    expect(row?.text).not.toContain(Buffer.from('secret-path').toString('hex'));
    expect(row?.text).not.toContain('secret-path');
  });

  it('is in the audit, as is its end, without path, query or secret [L1]', async () => {
    await bench.create({ name: 'audited', url: bench.receiver.url('/T0/secret-path?key=k1') });
    await call(bench.stack, 'DELETE /api/webhooks/audited', { token: bench.ada });
    const { body } = await call<Page<EventDocument>>(bench.stack, 'GET /api/audit', {
      token: bench.ada,
    });
    const ours = body.items.filter(({ data }) => data['name'] === 'audited');
    expect(ours.map(({ type, stream, data }) => ({ type, stream, data }))).toEqual(
      expect.arrayContaining([
        {
          type: 'WebhookCreated',
          stream: 'access/ada',
          data: {
            owner: 'ada',
            name: 'audited',
            host: `127.0.0.1:${bench.receiver.port}`,
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
    const body = { name: 'once', url: bench.receiver.url() };
    const ask = (more = {}) =>
      call<CreatedWebhook>(bench.stack, 'POST /api/webhooks', {
        body: { ...body, ...more },
        token: bench.ada,
        headers,
      });
    const answers = await Promise.all([ask(), ask(), ask()]);
    answers.push(await ask());
    expect(new Set(answers.map((one) => one.body.secret)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect((await ask({ name: 'other' })).status).toBe(409);
    expect(
      (await call<{ items: [] }>(bench.stack, 'GET /api/webhooks', { token: bench.ada })).body
        .items,
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
    const refused = await call<Problem>(bench.stack, 'POST /api/webhooks', {
      body,
      token: bench.ada,
    });
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).toContain(named);
  });

  it('refuses a URL that is too long', async () => {
    const body = { name: 'long', url: `https://example.com/${'x'.repeat(2000)}` };
    const refused = await call<Problem>(bench.stack, 'POST /api/webhooks', {
      body,
      token: bench.ada,
    });
    expect(refused.status).toBe(400);
  });

  it('refuses a name twice, and more than an owner may have', async () => {
    await bench.create({ name: 'first' });
    const again = await call<Problem>(bench.stack, 'POST /api/webhooks', {
      body: { name: 'first', url: bench.receiver.url() },
      token: bench.ada,
    });
    expect(again.status).toBe(409);
    expect(again.body.hint).toContain('another name');
    for (let n = 1; n < WEBHOOKS_PER_OWNER_MAX; n += 1) await bench.create();
    const over = await call<Problem>(bench.stack, 'POST /api/webhooks', {
      body: { name: 'over', url: bench.receiver.url() },
      token: bench.ada,
    });
    expect(over.status).toBe(429);
    expect(over.body.hint).toContain('Delete one');
  });
});

describe('an owner [Z1]', () => {
  it('neither sees nor touches the webhooks of another: not found', async () => {
    const { name } = await bench.create();
    const delivery = 'dlv-0000000000000000';
    for (const [at, body] of [
      [`GET /api/webhooks/${name}`, undefined],
      [`DELETE /api/webhooks/${name}`, undefined],
      [`POST /api/webhooks/${name}/test`, {}],
      [`POST /api/webhooks/${name}/redeliver`, { delivery }],
    ] as const) {
      const refused = await call<Problem>(bench.stack, at, { token: bench.bob, body });
      expect({ at, status: refused.status }).toEqual({ at, status: 404 });
      expect(refused.body.hint).toContain('/api/webhooks');
    }
    expect(
      (await call<{ items: [] }>(bench.stack, 'GET /api/webhooks', { token: bench.bob })).body
        .items,
    ).toEqual([]);
    expect((await bench.create({ name }, bench.bob)).name).toBe(name);
  });

  it('hears of own sessions only', async () => {
    const [own, foreign] = [await bench.create(), await bench.create({}, bench.bob)];
    await bench.interruptedSession('of-ada');
    await bench.newest(own.name, { state: 'delivered' });
    await bench.settled();
    expect((await bench.get(foreign.name, bench.bob)).deliveries).toEqual([]);
    expect(bench.receiver.types).toEqual(['card.raised']);
    expect(bench.receiver.received[0]?.payload.data.owner).toBe('ada');
  });
});

describe('DELETE /api/webhooks/:name', () => {
  it('ends its deliveries; a new one of the same name starts anew, with another secret', async () => {
    bench.receiver.behave = answer(500);
    const old = await bench.create({ name: 'reborn' });
    await bench.test('reborn');
    await bench.newest('reborn', { attempts: 1, last_status: 500 });
    expect(
      (await call(bench.stack, 'DELETE /api/webhooks/reborn', { token: bench.ada })).status,
    ).toBe(204);
    expect(
      (await call(bench.stack, 'DELETE /api/webhooks/reborn', { token: bench.ada })).status,
    ).toBe(404);
    const young = await bench.create({ name: 'reborn' });
    expect(young.secret).not.toBe(old.secret);
    expect((await bench.get('reborn')).deliveries).toEqual([]);
    bench.receiver.behave = answer(200);
    bench.clock.advance(RETRY_PAUSES_MS[0]!);
    await bench.test('reborn');
    await bench.newest('reborn', { state: 'delivered' });
    expect(bench.receiver.received).toHaveLength(2);
    expect(isSigned(bench.receiver.received[1]!, young.secret)).toBe(true);
  });
});

describe('POST /api/webhooks/:name/test', () => {
  it('sends one event for one Idempotency-Key [M2]', async () => {
    const { name } = await bench.create();
    const ask = () =>
      call<DeliveryDocument>(bench.stack, `POST /api/webhooks/${name}/test`, {
        token: bench.ada,
        headers: { 'idempotency-key': `test-${name}` },
      });
    const answers = await Promise.all([ask(), ask()]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    await bench.newest(name, { state: 'delivered' });
    expect((await bench.get(name)).deliveries).toHaveLength(1);
    expect(bench.receiver.types).toEqual(['webhook.test']);
  });
});

describe('without HANGAR_WEBHOOK_PRIVATE', () => {
  it('private addresses are refused: at once as such, at the try behind a name [X9]', async () => {
    bench.names['inside.example'] = ['10.0.0.1'];
    await bench.restart({ settings: TEST_SETTINGS });
    for (const host of ['127.0.0.1', '2130706433', '[::1]', '10.1.2.3', '[fd00::1]']) {
      const refused = await call<Problem>(bench.stack, 'POST /api/webhooks', {
        body: { name: 'inside', url: `http://${host}:${bench.receiver.port}/` },
        token: bench.ada,
      });
      expect({ host, status: refused.status }).toEqual({ host, status: 400 });
      expect(refused.body.hint).toContain('HANGAR_WEBHOOK_PRIVATE');
    }
    bench.names['loop.example'] = ['127.0.0.1'];
    const { name } = await bench.create({ url: `http://loop.example:${bench.receiver.port}/` });
    await bench.test(name);
    const failed = await bench.failedOnce(name);
    expect(failed.last_error).toContain('127.0.0.1, which is refused');
    expect(bench.receiver.received).toEqual([]);
  });
});
