import { createHash } from 'node:crypto';
import {
  WEBHOOK_DEAD_KEPT_MAX,
  WEBHOOK_DELIVERED_KEPT_MAX,
  WEBHOOK_DELIVERIES_SHOWN_MAX,
  WEBHOOK_DELIVERY_DAYS,
  WEBHOOK_WAITING_MAX,
  type DeliveryDocument,
} from '@hangar/contracts';
import { ask, type Connection } from './ask.ts';

/** A delivery that is this process's to send until its lease ends. */
export interface TakenDelivery {
  id: string;
  webhookId: string;
  owner: string;
  sealed: Buffer;
  body: string;
  /** From 1. */
  attempt: number;
  lease: number;
}

export interface NewDelivery {
  webhookId: string;
  owner: string;
  eventId: string;
  type: string;
  body: string;
}

interface Row {
  id: string;
  type: string;
  state: DeliveryDocument['state'];
  attempts: number;
  next_at: Date;
  last_status: number | null;
  last_error: string | null;
  created_at: Date;
  ended_at: Date | null;
}

/** Longer than a try and its record take; then another gateway may take it for lost. */
const LEASE_SECONDS = 60;
/** Rows removed at once. */
const PRUNED_MAX = 1000;

const COLUMNS = `id, type, state, attempts, next_at, last_status, last_error, created_at, ended_at`;
const WAITING = `select count(*)::int as n from gateway.webhook_delivery
  where webhook_id = $1 and state = 'waiting'`;
const ADD = `insert into gateway.webhook_delivery
    (id, webhook_id, owner, event_id, type, body, state, next_at, created_at, ended_at, last_error)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10)
  on conflict do nothing`;
/**
 * Due by the gateway's clock, leased by the database's, so that replicas agree on leases. What
 * waits for a webhook that is disabled is dead, so this need not look.
 */
const TAKE = `update gateway.webhook_delivery as d set attempts = attempts + 1, lease = lease + 1,
    lease_until = now() + make_interval(secs => ${LEASE_SECONDS})
  from gateway.webhook w
  where w.id = d.webhook_id and d.id = (
    select id from gateway.webhook_delivery
    where state = 'waiting' and next_at <= $1 and (lease_until is null or lease_until < now())
      and webhook_id <> all($2::uuid[]) and owner <> all($3::text[])
    order by next_at, position limit 1 for update skip locked)
  returning d.id, d.webhook_id as "webhookId", d.owner, w.sealed, d.body,
    d.attempts as attempt, d.lease`;
const DELIVERED = `update gateway.webhook_delivery
  set state = 'delivered', ended_at = $3, last_status = $4, last_error = null, lease_until = null
  where id = $1 and lease = $2 and state = 'waiting'`;
const AGAIN = `update gateway.webhook_delivery
  set next_at = $3, last_status = $4, last_error = $5, lease_until = null
  where id = $1 and lease = $2 and state = 'waiting'`;
const DEAD = `update gateway.webhook_delivery
  set state = 'dead', ended_at = $3, last_status = $4, last_error = $5, lease_until = null
  where id = $1 and lease = $2 and state = 'waiting'`;
const GIVE_BACK = `update gateway.webhook_delivery
  set attempts = attempts - 1, lease_until = null
  where id = $1 and lease = $2 and state = 'waiting'`;
const DISABLE = `update gateway.webhook set disabled_at = coalesce(disabled_at, $2) where id = $1`;
const ALL_DEAD = `update gateway.webhook_delivery
  set state = 'dead', ended_at = $2, last_error = $3, lease_until = null
  where webhook_id = $1 and state = 'waiting'`;
const TRIM = `delete from gateway.webhook_delivery where id in (
  select id from gateway.webhook_delivery where webhook_id = $1 and state = $2
  order by position desc offset $3 limit ${PRUNED_MAX})`;
const PRUNE = `delete from gateway.webhook_delivery where id in (
  select id from gateway.webhook_delivery
  where ended_at < $1::timestamptz - make_interval(days => ${WEBHOOK_DELIVERY_DAYS})
  limit ${PRUNED_MAX})`;
const FIND = `select ${COLUMNS} from gateway.webhook_delivery where webhook_id = $1 and id = $2`;
const NEWEST = `select ${COLUMNS} from gateway.webhook_delivery
  where webhook_id = $1 and ($2::text is null or state = $2)
  order by position desc limit ${WEBHOOK_DELIVERIES_SHOWN_MAX}`;
const REVIVE = `update gateway.webhook_delivery
  set state = 'waiting', attempts = 0, next_at = $3, ended_at = null
  where webhook_id = $1 and id = $2 and state = 'dead' returning ${COLUMNS}`;

/** The outbox of webhooks: what is to be sent, to which, and what became of it. */
export class DeliveryStore {
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** Once per webhook and event; the id is the same in every try and for every repetition. */
  async add(connection: Connection, delivery: NewDelivery): Promise<string> {
    const { webhookId, owner, eventId, type, body } = delivery;
    const id = deliveryId(webhookId, eventId);
    const now = this.#now();
    const isFull = await this.isFull(connection, webhookId);
    const end = isFull ? ['dead', now, now, FULL] : ['waiting', now, null, null];
    await ask(connection, ADD, [id, webhookId, owner, eventId, type, body, ...end]);
    if (isFull) await this.#trim(connection, webhookId, 'dead');
    return id;
  }

  async isFull(connection: Connection, webhookId: string): Promise<boolean> {
    const [row] = await ask<{ n: number }>(connection, WAITING, [webhookId]);
    return (row?.n ?? 0) >= WEBHOOK_WAITING_MAX;
  }

  /** The one that is due for longest, of no webhook and no owner that is named. */
  async take(
    connection: Connection,
    busyWebhooks: string[],
    busyOwners: string[],
  ): Promise<TakenDelivery | undefined> {
    const values = [this.#now(), busyWebhooks, busyOwners];
    return (await ask<TakenDelivery>(connection, TAKE, values))[0];
  }

  async delivered(connection: Connection, taken: TakenDelivery, status: number): Promise<void> {
    await ask(connection, DELIVERED, [taken.id, taken.lease, this.#now(), status]);
    await this.#trim(connection, taken.webhookId, 'delivered');
  }

  async again(
    connection: Connection,
    taken: TakenDelivery,
    failure: Failure,
    afterMs: number,
  ): Promise<void> {
    const nextAt = new Date(this.#now().getTime() + afterMs);
    const { status, error } = failure;
    await ask(connection, AGAIN, [taken.id, taken.lease, nextAt, status, error]);
  }

  async dead(connection: Connection, taken: TakenDelivery, failure: Failure): Promise<void> {
    const { status, error } = failure;
    await ask(connection, DEAD, [taken.id, taken.lease, this.#now(), status, error]);
    await this.#trim(connection, taken.webhookId, 'dead');
  }

  /** In one transaction: nothing more is sent to this webhook. */
  async disable(connection: Connection, taken: TakenDelivery, failure: Failure): Promise<void> {
    const { webhookId } = taken;
    await ask(connection, DISABLE, [webhookId, this.#now()]);
    await this.dead(connection, taken, failure);
    await ask(connection, ALL_DEAD, [webhookId, this.#now(), DISABLED]);
    await this.#trim(connection, webhookId, 'dead');
  }

  /** Not sent, and not to be counted as a try: this process ends. */
  async giveBack(connection: Connection, { id, lease }: TakenDelivery): Promise<void> {
    await ask(connection, GIVE_BACK, [id, lease]);
  }

  async newest(
    connection: Connection,
    webhookId: string,
    state: DeliveryDocument['state'] | null,
  ): Promise<DeliveryDocument[]> {
    return (await ask<Row>(connection, NEWEST, [webhookId, state])).map(deliveryDocument);
  }

  async find(
    connection: Connection,
    webhookId: string,
    id: string,
  ): Promise<DeliveryDocument | null> {
    const [row] = await ask<Row>(connection, FIND, [webhookId, id]);
    return row ? deliveryDocument(row) : null;
  }

  /** Null when it is not dead. */
  async revive(
    connection: Connection,
    webhookId: string,
    id: string,
  ): Promise<DeliveryDocument | null> {
    const [row] = await ask<Row>(connection, REVIVE, [webhookId, id, this.#now()]);
    return row ? deliveryDocument(row) : null;
  }

  async prune(connection: Connection): Promise<void> {
    await ask(connection, PRUNE, [this.#now()]);
  }

  async #trim(
    connection: Connection,
    webhookId: string,
    state: 'delivered' | 'dead',
  ): Promise<void> {
    const kept = state === 'dead' ? WEBHOOK_DEAD_KEPT_MAX : WEBHOOK_DELIVERED_KEPT_MAX;
    await ask(connection, TRIM, [webhookId, state, kept]);
  }
}

/** 64 bits that follow from what is sent and to whom: a repetition has the same. */
const deliveryId = (webhookId: string, eventId: string): string =>
  `dlv-${createHash('sha256').update(`${webhookId}\0${eventId}`).digest('hex').slice(0, 16)}`;

export interface Failure {
  status: number | null;
  error: string;
}

const FULL = `${WEBHOOK_WAITING_MAX} deliveries waited already; this one was not tried`;
const DISABLED = 'the webhook was disabled: its receiver answered 410';

const deliveryDocument = (row: Row): DeliveryDocument => ({
  id: row.id,
  type: row.type,
  state: row.state,
  attempts: row.attempts,
  last_status: row.last_status,
  last_error: row.last_error,
  created_at: row.created_at.toISOString(),
  next_at: row.state === 'waiting' ? row.next_at.toISOString() : null,
  ended_at: row.ended_at?.toISOString() ?? null,
});
