import { ACCESS_TOKEN_TABLE_SQL, SECRET_TABLE_SQL } from '@hangar/service-kit';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `sealed` holds the address and the secret, for many a receiver's address is all that it asks
 * for. `after_*` is where the log ended when it was made: what is older is not sent.
 */
const WEBHOOK_TABLE_SQL = `create table gateway.webhook (
  id uuid primary key,
  owner text not null,
  name text not null,
  sealed bytea not null,
  events text[] not null,
  disabled_at timestamptz,
  after_fence xid8 not null,
  after_position bigint not null,
  created_at timestamptz not null,
  constraint webhook_name unique (owner, name)
)`;

/** One row per webhook and event; `owner` is the webhook's, so that what is due needs no join; `lease` goes up with every try and is its fence. */
const DELIVERY_TABLE_SQL = `create table gateway.webhook_delivery (
  id text primary key,
  position bigint generated always as identity,
  webhook_id uuid not null references gateway.webhook on delete cascade,
  owner text not null,
  event_id uuid not null,
  type text not null,
  body text not null,
  state text not null check (state in ('waiting', 'delivered', 'dead')),
  attempts integer not null default 0,
  next_at timestamptz not null,
  lease integer not null default 0,
  lease_until timestamptz,
  last_status integer,
  last_error text,
  created_at timestamptz not null,
  ended_at timestamptz,
  constraint webhook_delivery_once unique (webhook_id, event_id)
)`;

const DELIVERY_INDEXES_SQL = [
  `create index webhook_delivery_due on gateway.webhook_delivery (next_at, position)
    where state = 'waiting'`,
  `create index webhook_delivery_newest
    on gateway.webhook_delivery (webhook_id, state, position desc)`,
  `create index webhook_delivery_age on gateway.webhook_delivery (ended_at)`,
];

/** What the gateway keeps that does not follow from the log; `views/` makes the read models. */
export class GatewayTables1764500000000 implements MigrationInterface {
  name = 'GatewayTables1764500000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ACCESS_TOKEN_TABLE_SQL);
    await runner.query(SECRET_TABLE_SQL);
    await runner.query(`create table gateway.idempotency_key (
      owner text not null,
      key text not null,
      request bytea not null,
      answer bytea,
      at timestamptz not null,
      constraint idempotency_key_key primary key (owner, key)
    )`);
    await runner.query('create index idempotency_key_age on gateway.idempotency_key (at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table gateway.idempotency_key');
  }
}

/** What a key's work derives its ids from is drawn for the key, not made of its text. */
export class IdempotencySeed1764590000000 implements MigrationInterface {
  name = 'IdempotencySeed1764590000000';

  async up(runner: QueryRunner): Promise<void> {
    const table = 'alter table gateway.idempotency_key';
    await runner.query(`${table} add column seed uuid not null default gen_random_uuid()`);
    await runner.query(`${table} alter column seed drop default`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table gateway.idempotency_key drop column seed');
  }
}

/** Webhooks, and what is sent to them: an outbox that commits with the events' inbox. */
export class Webhooks1764600000000 implements MigrationInterface {
  name = 'Webhooks1764600000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(WEBHOOK_TABLE_SQL);
    await runner.query(DELIVERY_TABLE_SQL);
    for (const index of DELIVERY_INDEXES_SQL) await runner.query(index);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table gateway.webhook_delivery');
    await runner.query('drop table gateway.webhook');
  }
}

/** In order; one that was released is never edited. */
export const MIGRATIONS = [
  GatewayTables1764500000000,
  IdempotencySeed1764590000000,
  Webhooks1764600000000,
];
