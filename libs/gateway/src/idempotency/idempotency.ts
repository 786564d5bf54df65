import { createHash, randomUUID } from 'node:crypto';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import {
  HangarError,
  IDEMPOTENCY_KEY_CHARACTERS_MAX,
  IDEMPOTENCY_KEY_DAYS,
} from '@hangar/contracts';
import { hashBody, type Json } from '@hangar/messaging';
import type { Vault } from '@hangar/service-kit';
import type { Repository } from 'typeorm';
import type { Caller, CheckedRequest } from '../auth/caller.ts';
import type { IdempotencyKey } from './idempotency-key.row.ts';

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

const RESERVE = `insert into gateway.idempotency_key (owner, key, request_hash, at)
  values ($1, $2, $3, now()) on conflict do nothing`;
const FIND = `select request_hash, answer from gateway.idempotency_key where owner = $1 and key = $2`;
/** The first answer stays: a twin of this request may have been faster. */
const ANSWER = `update gateway.idempotency_key set answer = coalesce(answer, $4)
  where owner = $1 and key = $2 and request_hash = $3 returning answer`;
const RELEASE = `delete from gateway.idempotency_key
  where owner = $1 and key = $2 and request_hash = $3 and answer is null`;
const FORGET = `delete from gateway.idempotency_key where ctid in (
  select ctid from gateway.idempotency_key
  where at < now() - make_interval(days => ${IDEMPOTENCY_KEY_DAYS}) limit 100)`;

/**
 * The same key and body give the same answer, also in parallel and after a restart [M2]. Work
 * gets a seed and derives the ids of what it makes from it: a twin, or a second try after a
 * crash, then makes the same things, and the owner of the aggregate records them once.
 */
export class Idempotency {
  readonly #keys: Repository<IdempotencyKey>;
  readonly #vault: Vault;

  constructor(keys: Repository<IdempotencyKey>, vault: Vault) {
    this.#keys = keys;
    this.#vault = vault;
  }

  /** Throws `conflict` when the key was used for another request. */
  async once<T extends object>(
    caller: Caller,
    { key, requestHash }: Creation,
    work: (seed: string) => Promise<T>,
  ): Promise<T> {
    if (key === null) return work(randomUUID());
    const { owner } = caller;
    await this.#keys.query(FORGET);
    await this.#keys.query(RESERVE, [owner, key, requestHash]);
    const known = await this.#find(owner, key);
    if (known && known.request_hash !== requestHash) throw keyReused();
    if (known?.answer) return this.#open<T>(owner, key, known.answer);
    const made = await this.#work(owner, key, requestHash, work);
    return made;
  }

  async #work<T extends object>(
    owner: string,
    key: string,
    requestHash: string,
    work: (seed: string) => Promise<T>,
  ): Promise<T> {
    let answer: T;
    try {
      answer = await work(`${owner}\0${key}`);
    } catch (error) {
      // What was refused made nothing, so the key is free again; after a failure nobody knows.
      if (isRefusal(error)) await this.#keys.query(RELEASE, [owner, key, requestHash]);
      throw error;
    }
    const sealed = this.#vault.seal(JSON.stringify(answer), aadOf(owner, key));
    const updated = (await this.#keys.query(ANSWER, [owner, key, requestHash, sealed])) as [
      { answer: Buffer }[],
    ];
    const [row] = updated[0];
    return row ? this.#open<T>(owner, key, row.answer) : answer;
  }

  async #find(
    owner: string,
    key: string,
  ): Promise<{ request_hash: string; answer: Buffer | null } | undefined> {
    const rows = (await this.#keys.query(FIND, [owner, key])) as {
      request_hash: string;
      answer: Buffer | null;
    }[];
    return rows[0];
  }

  #open<T>(owner: string, key: string, sealed: Buffer): T {
    return JSON.parse(this.#vault.unseal(sealed, aadOf(owner, key)).toString('utf8')) as T;
  }
}

const aadOf = (owner: string, key: string): string => `idempotency\0${owner}\0${key}`;

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
    hint: 'Use a new key for a new request; keys are kept for 7 days.',
  });
