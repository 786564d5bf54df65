import { expect } from '@jest/globals';
import type { CreatedWebhook, SessionEvent, WebhookDetails } from '@hangar/contracts';
import { webhookPayload } from '../../../../../libs/gateway/src/webhooks/webhook-payload.ts';
import type { TakenDelivery } from '../../../../../libs/gateway/src/webhooks/delivery-store.ts';
import { Outbox } from '../../../../../libs/gateway/src/testing/outbox.ts';
import type { LimitBench, LimitTests } from './bench.ts';

const URL = 'http://127.0.0.1:9/hook';

const create = async (bench: LimitBench, body: object = {}): Promise<number> =>
  (
    await bench.call<CreatedWebhook>('POST /api/webhooks', {
      name: bench.name(),
      url: URL,
      ...body,
    })
  ).status;

const outboxOf = (bench: LimitBench): Outbox => new Outbox(bench.stack.log.pool);

/** Deliveries that ended, the oldest first, each a second after the one before. */
const addEnded = (outbox: Outbox, id: string, state: string, count: number): Promise<unknown> =>
  outbox.pool.query(
    `insert into gateway.webhook_delivery
      (id, webhook_id, owner, event_id, type, body, state, next_at, created_at, ended_at)
    select 'dlv-' || gen_random_uuid(), $1, 'admin', gen_random_uuid(), 't', '{}', $2, now(),
      now(), now() from generate_series(1, $3::int) n`,
    [id, state, count],
  );

const ADDED_MAX = 20;

/** How many that ended are left when one more did. */
async function keptOf(
  bench: LimitBench,
  state: 'dead' | 'delivered',
  value: number,
): Promise<number> {
  const outbox = outboxOf(bench);
  const id = await outbox.webhook('kept', URL);
  await addEnded(outbox, id, state, value);
  let taken: TakenDelivery | undefined;
  // The gateway sends what is due, too: it may have had the first one.
  for (let tries = 0; !taken && tries < ADDED_MAX; tries += 1) {
    await outbox.add(id);
    taken = await outbox.deliveries.take(outbox.pool, await others(outbox, id), []);
  }
  if (!taken) throw new Error('there is no delivery to take');
  if (state === 'dead')
    await outbox.deliveries.dead(outbox.pool, taken, { status: 500, error: '' });
  else await outbox.deliveries.delivered(outbox.pool, taken, 204);
  return outbox.count(id, state);
}

const others = async (outbox: Outbox, id: string): Promise<string[]> => {
  const sql = 'select id from gateway.webhook where id <> $1';
  return (await outbox.pool.query<{ id: string }>(sql, [id])).rows.map((row) => row.id);
};

/** What is sent to webhooks, and how much of it is kept. */
export const webhookLimits: LimitTests = {
  webhooks: async (value, bench) => {
    const { body } = await bench.call<{ items: object[] }>('GET /api/webhooks');
    for (let count = body.items.length; count < value; count += 1)
      expect(await create(bench)).toBe(201);
    expect(await create(bench)).toBe(429);
  },

  webhook_url_characters: async (value, bench) => {
    const url = (size: number): string => `${URL}?${'x'.repeat(size - URL.length - 1)}`;
    expect(await create(bench, { url: url(value + 1) })).toBe(400);
    expect(await create(bench, { url: url(value) })).not.toBe(400);
  },

  webhook_text_characters: (value) => {
    const sent = (size: number): number => {
      const session = { id: 'ses-1a2b3c4d', name: 'one', owner: 'ada' };
      const data = { session_id: session.id, phase: 'setup', reason: 'x'.repeat(size) };
      const event = { type: 'SessionFailed', data } as unknown as SessionEvent;
      const payload = webhookPayload(
        event as Parameters<typeof webhookPayload>[0],
        '2030-01-01T00:00:00.000Z',
        session,
      );
      return payload?.type === 'session.failed' ? payload.data.reason.length : 0;
    };
    expect(sent(value)).toBe(value);
    expect(sent(value + 1)).toBe(value);
  },

  webhook_waiting: async (value, bench) => {
    const outbox = outboxOf(bench);
    const id = await outbox.webhook('waiting', URL);
    await outbox.fill(id, value - 1);
    for (let count = 0; count < 2; count += 1) await outbox.add(id);
    expect(await outbox.count(id, 'waiting')).toBe(value);
    expect(await outbox.count(id, 'dead')).toBe(1);
  },

  webhook_dead: async (value, bench) => {
    expect(await keptOf(bench, 'dead', value - 1)).toBe(value);
    expect(await keptOf(bench, 'dead', value)).toBe(value);
  },

  webhook_delivered: async (value, bench) => {
    expect(await keptOf(bench, 'delivered', value - 1)).toBe(value);
    expect(await keptOf(bench, 'delivered', value)).toBe(value);
  },

  webhook_shown: async (value, bench) => {
    const outbox = outboxOf(bench);
    const id = await outbox.webhook('admin', URL);
    await addEnded(outbox, id, 'dead', value + 1);
    const name = `hook-${id.slice(0, 8)}`;
    const { body } = await bench.call<WebhookDetails>(`GET /api/webhooks/${name}`);
    expect(body.deliveries).toHaveLength(value);
  },

  webhook_delivery_days: async (value, bench) => {
    const left = async (hours: number): Promise<number> => {
      const outbox = outboxOf(bench);
      const id = await outbox.webhook('old', URL);
      await addEnded(outbox, id, 'dead', 1);
      await outbox.pool.query(
        `update gateway.webhook_delivery
           set ended_at = now() - make_interval(days => $2, hours => $3) where webhook_id = $1`,
        [id, value, hours],
      );
      await outbox.deliveries.prune(outbox.pool);
      return outbox.count(id, 'dead');
    };
    expect(await left(-1)).toBe(1);
    expect(await left(1)).toBe(0);
  },
};
