import { randomUUID } from 'node:crypto';
import { START } from '@hangar/messaging';
import { Vault } from '@hangar/service-kit';
import type { Pool } from 'pg';
import { DeliveryRunner, type DeliveryRunnerOptions } from '../webhooks/delivery-runner.ts';
import { DeliveryStore } from '../webhooks/delivery-store.ts';
import { createDestinations } from '../webhooks/destinations.ts';
import { webhookSender } from '../webhooks/webhook-sender.ts';
import { WebhookStore } from '../webhooks/webhook-store.ts';

/** The outbox of webhooks without the gateway around it. */
export class Outbox {
  readonly pool: Pool;
  readonly webhooks = new WebhookStore(new Vault([Buffer.alloc(32, 7)]));
  readonly deliveries: DeliveryStore;
  readonly errors: unknown[] = [];
  readonly now: () => Date;
  readonly #owners = new Map<string, string>();

  constructor(pool: Pool, now: () => Date = () => new Date()) {
    this.pool = pool;
    this.now = now;
    this.deliveries = new DeliveryStore(now);
  }

  async webhook(owner: string, url: string): Promise<string> {
    const id = randomUUID();
    this.#owners.set(id, owner);
    const name = `hook-${id.slice(0, 8)}`;
    const createdAt = this.now();
    const webhook = { id, owner, name, events: [], createdAt };
    const opened = { url, secret: 'whsec_AAAA' };
    await this.webhooks.add(this.pool, webhook, opened, START);
    return id;
  }

  /** One delivery, as the gateway writes it. */
  add(webhookId: string): Promise<string> {
    const told = { eventId: randomUUID(), type: 'webhook.test', body: '{}' };
    return this.deliveries.add(this.pool, {
      webhookId,
      owner: this.#owners.get(webhookId)!,
      ...told,
    });
  }

  /** Many at once. */
  async fill(webhookId: string, count: number, padding = ''): Promise<void> {
    await this.pool.query(
      `insert into gateway.webhook_delivery
        (id, webhook_id, owner, event_id, type, body, state, next_at, created_at)
      select 'dlv-' || gen_random_uuid(), id, owner, gen_random_uuid(), 'webhook.test', $3,
        'waiting', $4, $4 from gateway.webhook, generate_series(1, $2::int) where id = $1`,
      [webhookId, count, JSON.stringify({ type: 'webhook.test', padding }), this.now()],
    );
  }

  runner(options: Partial<DeliveryRunnerOptions> = {}): DeliveryRunner {
    const { pool, deliveries, webhooks, now } = this;
    const destinations = createDestinations({ allowsPrivate: true });
    return new DeliveryRunner({
      pool,
      deliveries,
      send: webhookSender({ webhooks, destinations, now }),
      now,
      onError: (error) => this.errors.push(error),
      ...options,
    });
  }

  async count(webhookId: string, state: string): Promise<number> {
    const sql = `select count(*)::int as n from gateway.webhook_delivery
      where webhook_id = $1 and state = $2`;
    return (await this.pool.query<{ n: number }>(sql, [webhookId, state])).rows[0]?.n ?? 0;
  }

  /** As time would: every lease is over. */
  async endLeases(): Promise<void> {
    await this.pool.query(
      "update gateway.webhook_delivery set lease_until = now() - interval '1 second'",
    );
  }
}
