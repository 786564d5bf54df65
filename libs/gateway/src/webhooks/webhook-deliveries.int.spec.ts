import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DeliveryDocument, Problem, WebhookDocument } from '@hangar/contracts';
import { Vault } from '@hangar/service-kit';
import { eventually } from '@hangar/testing';
import { call } from '../testing/http.ts';
import { answer, hang, isSigned, Receiver } from '../testing/receiver.ts';
import { WebhookBench } from '../testing/webhook-bench.ts';
import { RETRY_PAUSES_MS } from './retry.ts';

let bench: WebhookBench;
beforeAll(async () => {
  bench = await WebhookBench.start();
}, 120_000);
afterAll(() => bench.stack.close(), 60_000);
beforeEach(() => bench.beforeEach());
afterEach(() => bench.afterEach());

describe('what is sent', () => {
  it('is the card, signed, and that it was cleared', async () => {
    const { name, secret } = await bench.create();
    const session = await bench.interruptedSession('with-card');
    const [card] = session.attention;
    await call(bench.stack, `POST /api/sessions/${session.id}/rename`, {
      body: { name: 'renamed' },
      token: bench.ada,
    });
    await call(bench.stack, `POST /api/sessions/${session.id}/continue`, { token: bench.ada });
    await bench.receiver.gets(2);
    const [raised, cleared] = bench.receiver.received;
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
    for (const received of bench.receiver.received) {
      expect(isSigned(received, secret)).toBe(true);
      expect(isSigned({ ...received, body: `${received.body} ` }, secret)).toBe(false);
      expect(received.headers['content-type']).toBe('application/json');
      expect(Number(received.headers['webhook-timestamp'])).toBe(
        Math.floor(bench.clock.now().getTime() / 1000),
      );
    }
    const { deliveries } = await bench.get(name);
    expect(deliveries.map(({ id }) => id)).toEqual([...bench.receiver.ids].reverse());
  });

  it('are ends of turns and failures for those who asked for them, and nothing for others', async () => {
    const turns = await bench.create({ events: ['turn.finished', 'session.failed'] });
    const cards = await bench.create();
    const { id } = await bench.busySession('asked-for');
    await bench.stack.spokes.release('RunFinished');
    await bench.newest(turns.name, { state: 'delivered', type: 'turn.finished' });
    await bench.settled();
    expect(bench.receiver.received.map(({ payload }) => payload)).toEqual([
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
    expect((await bench.get(cards.name)).deliveries).toEqual([]);
  });

  it('is sent once, and nothing from before the webhook, though every event arrives again [O2]', async () => {
    await bench.interruptedSession('before');
    await bench.settled();
    const { name } = await bench.create();
    await bench.interruptedSession('after');
    const { id } = await bench.newest(name, { state: 'delivered' });
    await bench.settled();
    await bench.forgetInbox();
    expect((await bench.get(name)).deliveries.map((one) => one.id)).toEqual([id]);
    // Whatever was written before this one is sent before it.
    await bench.test(name);
    await bench.receiver.gets(2);
    expect(bench.receiver.types).toEqual(['card.raised', 'webhook.test']);
    expect(bench.receiver.received[0]?.payload.data).toMatchObject({ session_name: 'after' });
  });

  it('goes to the address that was checked, under the name that was given', async () => {
    bench.names['hooks.example'] = ['127.0.0.1'];
    const { name } = await bench.create({ url: `http://hooks.example:${bench.receiver.port}/x` });
    await bench.test(name);
    const [received] = await bench.receiver.gets(1);
    expect(received?.headers.host).toBe(`hooks.example:${bench.receiver.port}`);
  });

  it('never goes to a name that leads to the metadata address [X9]', async () => {
    bench.names['metadata.example'] = ['127.0.0.1', '169.254.169.254'];
    const { name } = await bench.create({ url: `http://metadata.example:${bench.receiver.port}/` });
    await bench.test(name);
    const failed = await bench.failedOnce(name);
    expect(failed.last_error).toContain('169.254.169.254, which is refused');
    expect(bench.receiver.received).toEqual([]);
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
    bench.receiver.behave = behaviour;
    const { name, secret } = await bench.create();
    const { body } = await bench.test(name);
    const failed = await bench.newest(name, { attempts: 1, last_error: error });
    expect(failed).toMatchObject({ id: body.id, state: 'waiting', last_status: status });
    const nextAt = bench.clock.now().getTime() + RETRY_PAUSES_MS[0]!;
    expect(Date.parse(failed.next_at!)).toBe(nextAt);
    bench.receiver.behave = answer(200);
    bench.clock.advance(RETRY_PAUSES_MS[0]! - 1);
    // What is sent now shows that the other was looked at, and is not due.
    const other = await bench.create({ url: bench.receiver.url('/other') });
    await bench.test(other.name);
    await bench.newest(other.name, { state: 'delivered' });
    expect(bench.receiver.received.map(({ path }) => path)).toEqual(['/hook', '/other']);
    bench.receiver.received.pop();
    bench.clock.advance(1);
    await bench.newest(name, {
      state: 'delivered',
      attempts: 2,
      last_error: null,
      last_status: 200,
    });
    expect(bench.receiver.ids).toEqual([body.id, body.id]);
    expect(bench.receiver.received.map(({ path }) => path)).toEqual(['/hook', '/hook']);
    const [first, second] = bench.receiver.received;
    expect(first?.body).toBe(second?.body);
    expect(first?.headers['webhook-signature']).not.toBe(second?.headers['webhook-signature']);
    expect(bench.receiver.received.every((one) => isSigned(one, secret))).toBe(true);
  });

  it('because nobody answers in time is cut, and followed by another', async () => {
    bench.receiver.behave = hang;
    const { name } = await bench.create();
    await bench.test(name);
    await bench.receiver.gets(1);
    bench.deadlines.at(-1)!.abort();
    await bench.newest(name, {
      attempts: 1,
      last_error: 'no answer within 10 s',
      last_status: null,
    });
    bench.receiver.behave = answer(200);
    bench.clock.advance(RETRY_PAUSES_MS[0]!);
    await bench.newest(name, { state: 'delivered', attempts: 2 });
    expect(new Set(bench.receiver.ids).size).toBe(1);
  });

  it('because nobody is there says so', async () => {
    const gone = await Receiver.start();
    const { name } = await bench.create({ url: gone.url('/T0/secret-path') });
    await gone.close();
    await bench.test(name);
    const failed = await bench.failedOnce(name);
    expect(failed.last_error).toContain('ECONNREFUSED');
    expect(failed.last_error).not.toContain('secret-path');
  });

  it('for the tenth time is dead; redeliver gives it all its tries again', async () => {
    bench.receiver.behave = answer(503);
    const { name } = await bench.create();
    const { body } = await bench.test(name);
    for (const [i, pauseMs] of RETRY_PAUSES_MS.entries()) {
      const failed = await bench.newest(name, { attempts: i + 1, last_status: 503 });
      expect(failed.state).toBe('waiting');
      bench.clock.advance(pauseMs);
      await bench.receiver.gets(i + 2);
    }
    const dead = await bench.newest(name, { state: 'dead' });
    expect(dead).toMatchObject({ id: body.id, attempts: 10, next_at: null, last_status: 503 });
    expect((await bench.get(name, bench.ada, '?state=dead')).deliveries).toHaveLength(1);
    expect((await bench.get(name, bench.ada, '?state=waiting')).deliveries).toEqual([]);
    bench.receiver.behave = answer(200);
    const at = `POST /api/webhooks/${name}/redeliver`;
    const again = await call<DeliveryDocument>(bench.stack, at, {
      body: { delivery: body.id },
      token: bench.ada,
    });
    expect(again).toMatchObject({ status: 202, body: { state: 'waiting', attempts: 0 } });
    await bench.newest(name, { state: 'delivered', attempts: 1 });
    expect(new Set(bench.receiver.ids)).toEqual(new Set([body.id]));
    const late = await call<Problem>(bench.stack, at, {
      body: { delivery: body.id },
      token: bench.ada,
    });
    expect(late).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('delivered') as unknown },
    });
    const unknown = { delivery: 'dlv-0000000000000000' };
    expect((await call(bench.stack, at, { body: unknown, token: bench.ada })).status).toBe(404);
    expect(
      (await call(bench.stack, at, { body: { delivery: 'x' }, token: bench.ada })).status,
    ).toBe(400);
  });

  it('with 410 disables the webhook: nothing is sent to it any more', async () => {
    bench.receiver.behave = answer(500);
    const { name } = await bench.create();
    await bench.test(name);
    await bench.newest(name, { attempts: 1, last_status: 500 });
    bench.receiver.behave = answer(410);
    await bench.test(name);
    await bench.newest(name, { state: 'dead', last_status: 410 });
    const { state, disabled_at, deliveries } = await bench.get(name);
    expect({ state, isDated: disabled_at !== null }).toEqual({ state: 'disabled', isDated: true });
    expect(deliveries.map((one) => one.state)).toEqual(['dead', 'dead']);
    expect(deliveries[1]?.last_error).toContain('410');
    await bench.interruptedSession('after-410');
    await bench.settled();
    bench.clock.advance(RETRY_PAUSES_MS[0]!);
    expect((await bench.get(name)).deliveries).toHaveLength(2);
    const refused = await call<Problem>(bench.stack, `POST /api/webhooks/${name}/test`, {
      token: bench.ada,
    });
    expect(refused.status).toBe(409);
    expect(refused.body.hint).toContain('create it again');
    expect(bench.receiver.received).toHaveLength(2);
  });
});

describe('a rotation of the vault key', () => {
  it('seals webhooks anew at the start, and the old key can go [C4]', async () => {
    const [old, young] = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)];
    const body = { name: 'sealed', url: bench.receiver.url() };
    await bench.restart({ vault: new Vault([old]) });
    const { name, secret } = await bench.create(body);
    const { name: unneeded } = await bench.create();
    await bench.restart({ vault: new Vault([young, old]) });
    await eventually(async () => {
      const { rows } = await bench.stack.log.pool.query<{ sealed: Buffer }>(
        'select sealed from gateway.webhook',
      );
      return rows.every(({ sealed }) => !new Vault([young]).isStale(sealed));
    });
    await bench.restart({ vault: new Vault([Buffer.alloc(32, 9)]) });
    const lost = await call<Problem>(bench.stack, `GET /api/webhooks/${name}`, {
      token: bench.ada,
    });
    expect(lost.body.detail).toContain('was sealed with the vault key');
    const list = await call<{ items: WebhookDocument[] }>(bench.stack, 'GET /api/webhooks', {
      token: bench.ada,
    });
    expect(list.body.items.find((one) => one.name === name)).toMatchObject({ url: null });
    // What cannot be opened can still be deleted.
    const end = await call(bench.stack, `DELETE /api/webhooks/${unneeded}`, { token: bench.ada });
    expect(end.status).toBe(204);
    await bench.restart({ vault: new Vault([young]) });
    await bench.test(name);
    const [received] = await bench.receiver.gets(1);
    expect(isSigned(received!, secret)).toBe(true);
  });
});
