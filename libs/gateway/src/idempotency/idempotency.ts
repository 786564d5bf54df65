import { createHash, randomUUID } from 'node:crypto';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import {
  HangarError,
  IDEMPOTENCY_KEY_CHARACTERS_MAX,
  IDEMPOTENCY_KEY_DAYS,
} from '@hangar/contracts';
import { hashBody, type Json } from '@hangar/messaging';
import type { Vault } from '@hangar/service-kit';
import type { Pool } from 'pg';
import type { Caller, CheckedRequest } from '../auth/caller.ts';

/** A request that creates something: its key, if it has one, and what it asks for. */
export interface Creation {
  key: string | null;
  requestHash: string;
}

/** From the header `Idempotency-Key`; throws `invalid` when it is not one. */
export const FromCreation = createParamDecorator(
  (_: unknown, context: ExecutionContext): Creation =>
    creationOf(context.switchToHttp().getRequest<CheckedRequest>()),
);

const KEY = new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_CHARACTERS_MAX}}$`);

export function creationOf(
  request: Pick<CheckedRequest, 'headers' | 'method' | 'path' | 'body'>,
): Creation {
  const header = request.headers['idempotency-key'];
  const what = `${request.method} ${request.path}\n${hashBody((request.body ?? null) as Json)}`;
  const requestHash = createHash('sha256').update(what).digest('hex');
  if (header === undefined) return { key: null, requestHash };
  if (typeof header === 'string' && KEY.test(header)) return { key: header, requestHash };
  throw new HangarError('invalid', 'The Idempotency-Key cannot be used.', {
    hint: `Use 1 to ${IDEMPOTENCY_KEY_CHARACTERS_MAX} printable characters without spaces.`,
  });
}

const RESERVE = `insert into gateway.idempotency_key (owner, key, request, seed, at)
  values ($1, $2, $3, $4, now()) on conflict do nothing`;
const FIND = `select request, answer, seed from gateway.idempotency_key where owner = $1 and key = $2`;
/** The first answer stays: a twin of this request may have been faster. */
const ANSWER = `update gateway.idempotency_key set answer = coalesce(answer, $3)
  where owner = $1 and key = $2`;
const RELEASE = `delete from gateway.idempotency_key
  where owner = $1 and key = $2 and answer is null`;
const OLD = `at < now() - make_interval(days => ${IDEMPOTENCY_KEY_DAYS})`;
/** This one when it is old, so that it is known for so long and no longer; and some others. */
const FORGET = `delete from gateway.idempotency_key where ${OLD} and (owner = $1 and key = $2
  or ctid = any(array(select ctid from gateway.idempotency_key where ${OLD} limit 100)))`;

interface Row {
  request: Buffer;
  answer: Buffer | null;
  seed: string;
}

/** A pool, or a transaction in which the answer commits with what it tells of. */
export type KeyConnection = Pick<Pool, 'query'>;

/**
 * The same key and body give the same answer, also in parallel and after a restart [M2]. Work
 * gets a seed and derives the ids of what it makes from it: a twin, or a second try after a
 * crash, then makes the same things, and the owner of the aggregate records them once. The seed
 * is drawn when the key is first seen: a key that is used again after it was forgotten, or in
 * another installation, makes something else. Work that cannot derive its ids asks `recall` and
 * tells `keep` in its own transaction.
 */
export class Idempotency {
  readonly #pool: KeyConnection;
  readonly #vault: Vault;

  constructor(pool: KeyConnection, vault: Vault) {
    this.#pool = pool;
    this.#vault = vault;
  }

  /** Throws `conflict` when the key was used for another request. */
  async once<T extends object>(
    caller: Caller,
    creation: Creation,
    work: (seed: string) => Promise<T>,
  ): Promise<T> {
    const { key, requestHash } = creation;
    if (key === null) return work(randomUUID());
    const { owner } = caller;
    await this.#pool.query(FORGET, [owner, key]);
    const request = this.#vault.seal(requestHash, aadOf('request', owner, key));
    await this.#pool.query(RESERVE, [owner, key, request, randomUUID()]);
    const row = await this.#find(this.#pool, caller, creation);
    const known = this.#answerOf<T>(row, owner, key);
    if (known) return known;
    try {
      // A twin that was refused may have freed the key meanwhile; its seed is gone with it.
      const answer = await work(row?.seed ?? randomUUID());
      await this.keep(this.#pool, caller, creation, answer);
      return (await this.recall<T>(this.#pool, caller, creation)) ?? answer;
    } catch (error) {
      // What was refused made nothing, so the key is free again; after a failure nobody knows.
      if (isRefusal(error)) await this.#pool.query(RELEASE, [owner, key]);
      throw error;
    }
  }

  /** The answer that was given before; null when there is none yet. */
  async recall<T>(
    connection: KeyConnection,
    caller: Caller,
    creation: Creation,
  ): Promise<T | null> {
    if (creation.key === null) return null;
    const row = await this.#find(connection, caller, creation);
    return this.#answerOf<T>(row, caller.owner, creation.key);
  }

  async #find(
    connection: KeyConnection,
    { owner }: Caller,
    { key, requestHash }: Creation,
  ): Promise<Row | null> {
    const [row] = (await connection.query<Row>(FIND, [owner, key])).rows;
    if (!row) return null;
    const aad = aadOf('request', owner, String(key));
    if (this.#vault.unseal(row.request, aad).toString('utf8') !== requestHash) throw keyReused();
    return row;
  }

  #answerOf<T>(row: Row | null, owner: string, key: string): T | null {
    if (!row?.answer) return null;
    const text = this.#vault.unseal(row.answer, aadOf('answer', owner, key)).toString('utf8');
    return JSON.parse(text) as T;
  }

  async keep(
    connection: KeyConnection,
    { owner }: Caller,
    { key }: Creation,
    answer: object,
  ): Promise<void> {
    if (key === null) return;
    const sealed = this.#vault.seal(JSON.stringify(answer), aadOf('answer', owner, key));
    await connection.query(ANSWER, [owner, key, sealed]);
  }
}

const aadOf = (what: 'request' | 'answer', owner: string, key: string): string =>
  `idempotency ${what}\0${owner}\0${key}`;

const REFUSALS: ReadonlySet<string> = new Set([
  'invalid',
  'not_found',
  'conflict',
  'forbidden',
  'exhausted',
]);
const isRefusal = (error: unknown): boolean =>
  error instanceof HangarError && REFUSALS.has(error.code);

const keyReused = (): HangarError =>
  new HangarError('conflict', 'This Idempotency-Key was used for another request.', {
    hint: `Use a new key for a new request; keys are kept for ${IDEMPOTENCY_KEY_DAYS} days.`,
  });
