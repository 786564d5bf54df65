import { randomUUID } from 'node:crypto';
import {
  HangarError,
  WEBHOOKS_PER_OWNER_MAX,
  type CreatedWebhook,
  type CreateWebhook,
  type DeliveryDocument,
  type WebhookDetails,
  type WebhookDocument,
  type WebhookPayload,
  type WebhookQuery,
} from '@hangar/contracts';
import type { EventStore } from '@hangar/messaging';
import type { Pool } from 'pg';
import type { AccessLog } from '../auth/access-log.ts';
import type { Caller } from '../auth/caller.ts';
import type { Creation, Idempotency } from '../idempotency/idempotency.ts';
import type { Connection } from './ask.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { Destinations } from './destinations.ts';
import { newWebhookSecret } from './signature.ts';
import type { Webhook, WebhookStore } from './webhook-store.ts';

export interface WebhooksParts {
  pool: Pool;
  store: Pick<EventStore, 'head'>;
  webhooks: WebhookStore;
  deliveries: DeliveryStore;
  destinations: Destinations;
  log: AccessLog;
  idempotency: Idempotency;
  now(): Date;
  /** There is something to send. */
  wake(): void;
}

/** Webhooks of an owner [Z1]: who is told of cards, turns and failures, and what became of it. */
export class WebhooksService {
  readonly #parts: WebhooksParts;

  constructor(parts: WebhooksParts) {
    this.#parts = parts;
  }

  async list({ owner }: Caller): Promise<{ items: WebhookDocument[] }> {
    const { webhooks, pool } = this.#parts;
    return { items: (await webhooks.list(pool, owner)).map((one) => this.#listed(one)) };
  }

  async get(caller: Caller, name: string, { state }: WebhookQuery): Promise<WebhookDetails> {
    const { pool, deliveries } = this.#parts;
    const webhook = await this.#find(pool, caller, name);
    const newest = await deliveries.newest(pool, webhook.id, state ?? null);
    return { ...this.#document(webhook), deliveries: newest };
  }

  /** The secret is in this answer, and in its repetition by the same key; nowhere else. */
  create(caller: Caller, creation: Creation, body: CreateWebhook): Promise<CreatedWebhook> {
    const { log, idempotency, webhooks, store, now, destinations } = this.#parts;
    const { owner } = caller;
    const url = new URL(body.url);
    return idempotency.once(caller, creation, async () => {
      destinations.check(url);
      const after = await store.head();
      return log.change(caller, owner, async (connection) => {
        // A twin of this request may have made it while this one waited for its turn.
        const known = await idempotency.recall<CreatedWebhook>(connection, caller, creation);
        if (known) return { result: known, event: null };
        await this.#checkRoom(connection, owner, body.name);
        const secret = newWebhookSecret();
        const { name, events } = body;
        const webhook = { id: randomUUID(), owner, name, events, createdAt: now() };
        await webhooks.add(connection, webhook, { url: url.href, secret }, after);
        const shown = webhookDocument({ ...webhook, disabledAt: null }, url.href);
        const result = { ...shown, secret };
        await idempotency.keep(connection, caller, creation, result);
        const data = { owner, name, host: url.host, events };
        return { result, event: { type: 'WebhookCreated', data } };
      });
    });
  }

  async delete(caller: Caller, name: string): Promise<void> {
    const { log, webhooks } = this.#parts;
    const { owner } = caller;
    await log.change(caller, owner, async (connection) => {
      const { id } = await this.#find(connection, caller, name);
      await webhooks.delete(connection, id);
      return { result: null, event: { type: 'WebhookDeleted', data: { owner, name } } };
    });
  }

  /** Sends an event of type `webhook.test`, as any other: signed, and tried again. */
  test(caller: Caller, creation: Creation, name: string): Promise<DeliveryDocument> {
    const { pool, deliveries, idempotency, now, wake } = this.#parts;
    return idempotency.once(caller, creation, async (seed) => {
      const webhook = await this.#findActive(caller, name);
      await this.#checkNotFull(webhook);
      const payload: WebhookPayload = {
        type: 'webhook.test',
        timestamp: now().toISOString(),
        data: { webhook: name, owner: caller.owner },
      };
      const { id: webhookId, owner } = webhook;
      const body = JSON.stringify(payload);
      const delivery = { webhookId, owner, eventId: seed, type: payload.type, body };
      const id = await deliveries.add(pool, delivery);
      wake();
      const added = await deliveries.find(pool, webhook.id, id);
      return added ?? Promise.reject(noDelivery(name, id));
    });
  }

  /** A dead delivery gets all its tries again, under the same id. */
  async redeliver(caller: Caller, name: string, id: string): Promise<DeliveryDocument> {
    const { pool, deliveries, wake } = this.#parts;
    const webhook = await this.#findActive(caller, name);
    await this.#checkNotFull(webhook);
    const revived = await deliveries.revive(pool, webhook.id, id);
    if (revived) {
      wake();
      return revived;
    }
    const found = await deliveries.find(pool, webhook.id, id);
    if (!found) throw noDelivery(name, id);
    throw new HangarError('conflict', `The delivery ${id} is ${found.state}, not dead.`, {
      hint: 'Only dead deliveries are sent again; one that waits is tried by itself.',
    });
  }

  /** One that does not open hides none of the others. */
  #listed(webhook: Webhook): WebhookDocument {
    try {
      return this.#document(webhook);
    } catch (error) {
      if (error instanceof HangarError && error.code === 'invalid')
        return webhookDocument(webhook, null);
      throw error;
    }
  }

  #document(webhook: Webhook): WebhookDocument {
    return webhookDocument(webhook, this.#parts.webhooks.open(webhook).url);
  }

  async #checkRoom(connection: Connection, owner: string, name: string): Promise<void> {
    const { webhooks } = this.#parts;
    if (await webhooks.find(connection, owner, name)) {
      throw new HangarError('conflict', `You have a webhook called ${name}.`, {
        hint: 'Take another name, or delete that one first.',
      });
    }
    if ((await webhooks.count(connection, owner)) >= WEBHOOKS_PER_OWNER_MAX) {
      throw new HangarError('exhausted', `You have ${WEBHOOKS_PER_OWNER_MAX} webhooks already.`, {
        hint: 'Delete one, or let one receiver pass things on.',
      });
    }
  }

  async #find(connection: Connection, { owner }: Caller, name: string): Promise<Webhook> {
    const webhook = await this.#parts.webhooks.find(connection, owner, name);
    if (webhook) return webhook;
    throw new HangarError('not_found', `You have no webhook called ${name}.`, {
      hint: 'GET /api/webhooks (hangar webhook list) shows the names you have.',
    });
  }

  async #findActive(caller: Caller, name: string): Promise<Webhook> {
    const webhook = await this.#find(this.#parts.pool, caller, name);
    if (!webhook.disabledAt) return webhook;
    throw new HangarError('conflict', `The webhook ${name} is disabled: it answered 410.`, {
      hint: 'Delete it and create it again, when its receiver wants to hear.',
    });
  }

  async #checkNotFull({ id, name }: Webhook): Promise<void> {
    const { pool, deliveries } = this.#parts;
    if (!(await deliveries.isFull(pool, id))) return;
    throw new HangarError('exhausted', `Too many deliveries of ${name} wait already.`, {
      hint: 'See why with GET /api/webhooks/<name>?state=waiting (hangar webhook get).',
    });
  }
}

const noDelivery = (name: string, id: string): HangarError =>
  new HangarError('not_found', `The webhook ${name} has no delivery ${id}.`, {
    hint: 'GET /api/webhooks/<name> (hangar webhook get) shows those that are kept.',
  });

const webhookDocument = (
  { name, events, disabledAt, createdAt }: Omit<Webhook, 'sealed'>,
  url: string | null,
): WebhookDocument => ({
  name,
  url,
  events,
  state: disabledAt ? 'disabled' : 'active',
  disabled_at: disabledAt?.toISOString() ?? null,
  created_at: createdAt.toISOString(),
});
