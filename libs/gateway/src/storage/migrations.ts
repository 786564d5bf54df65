import { ACCESS_TOKEN_TABLE_SQL, SECRET_TABLE_SQL } from '@hangar/service-kit';
import type { MigrationInterface, QueryRunner } from 'typeorm';

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

/** In order; one that was released is never edited. */
export const MIGRATIONS = [GatewayTables1764500000000, IdempotencySeed1764590000000];
