import { HangarError, SECRETS_PER_OWNER_MAX, SECRET_BYTES_MAX } from '@hangar/contracts';
import type { Clock } from './clock.ts';
import { askPostgres, type Queryable } from './postgres/ask-postgres.ts';
import {
  DELETE_SECRET_SQL,
  LIST_SECRETS_SQL,
  PAGE_SECRETS_SQL,
  RESEAL_SECRET_SQL,
  REVEAL_SECRETS_SQL,
  SET_SECRET_SQL,
} from './postgres/secret.sql.ts';
import type { Vault } from './vault.ts';

const RESEAL_PAGE_ROWS = 100;
/** As an environment variable is named, for that is what a secret becomes in a run. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

export interface SecretDescription {
  name: string;
  version: number;
  updatedAt: Date;
}

export interface RevealedSecrets {
  values: Map<string, string>;
  /** Asked for, but not there. */
  missing: string[];
}

interface Row {
  name: string;
  version: number;
  updated_at: Date;
}

/**
 * Secrets of owners, sealed with the vault key ([Z2]). What was set never comes back to a person:
 * `reveal` is for the injection into a run. Every method throws `unavailable` without a database.
 */
export class SecretStore {
  readonly #pool: Queryable;
  readonly #vault: Vault;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(pool: Queryable, vault: Vault, clock: Pick<Clock, 'now'>) {
    this.#pool = pool;
    this.#vault = vault;
    this.#clock = clock;
  }

  /** Sets or replaces; the version counts from 1. Throws `invalid`, or `exhausted` above the limit. */
  async set(owner: string, name: string, value: string): Promise<SecretDescription> {
    assertName(name);
    assertValue(name, value);
    const sealed = this.#vault.seal(value, aadOf(owner, name));
    const now = this.#clock.now();
    const parameters = [owner, name, sealed, now, SECRETS_PER_OWNER_MAX];
    const [row] = await askPostgres<Row>(this.#pool, SET_SECRET_SQL, parameters);
    if (row) return describe(row);
    throw new HangarError('exhausted', `An owner has ${SECRETS_PER_OWNER_MAX} secrets at most.`, {
      hint: 'Delete one that no environment names any more.',
    });
  }

  /** Names and versions, never values; in the order of the names. */
  async list(owner: string): Promise<SecretDescription[]> {
    const parameters = [owner, SECRETS_PER_OWNER_MAX];
    return (await askPostgres<Row>(this.#pool, LIST_SECRETS_SQL, parameters)).map(describe);
  }

  /** Deleting what is not there succeeds. */
  async delete(owner: string, name: string): Promise<void> {
    await askPostgres(this.#pool, DELETE_SECRET_SQL, [owner, name]);
  }

  /** Throws `invalid` where a value does not open: the vault key that sealed it is not there. */
  async reveal(owner: string, names: readonly string[]): Promise<RevealedSecrets> {
    const wanted = [...new Set(names)];
    if (wanted.length > SECRETS_PER_OWNER_MAX) {
      throw new HangarError('invalid', `A run takes ${SECRETS_PER_OWNER_MAX} secrets at most.`);
    }
    const rows = await askPostgres<{ name: string; sealed: Buffer }>(
      this.#pool,
      REVEAL_SECRETS_SQL,
      [owner, wanted],
    );
    const values = new Map<string, string>();
    for (const { name, sealed } of rows) {
      values.set(name, this.#vault.unseal(sealed, aadOf(owner, name)).toString('utf8'));
    }
    return { values, missing: wanted.filter((name) => !values.has(name)) };
  }

  /**
   * After a rotation: seals anew what an older vault key sealed, and says how many that were.
   * Throws at its end for those that do not open.
   */
  async reseal(): Promise<number> {
    let resealed = 0;
    const errors: unknown[] = [];
    for (let after = { owner: '', name: '' }; ;) {
      const page = await askPostgres<{
        owner: string;
        name: string;
        sealed: Buffer;
        version: number;
      }>(this.#pool, PAGE_SECRETS_SQL, [after.owner, after.name, RESEAL_PAGE_ROWS]);
      for (const { owner, name, sealed, version } of page) {
        if (!this.#vault.isStale(sealed)) continue;
        const aad = aadOf(owner, name);
        try {
          const young = this.#vault.seal(this.#vault.unseal(sealed, aad), aad);
          await askPostgres(this.#pool, RESEAL_SECRET_SQL, [owner, name, young, version]);
          resealed += 1;
        } catch (error) {
          errors.push(error);
        }
      }
      const last = page.at(-1);
      if (last && page.length === RESEAL_PAGE_ROWS) {
        after = last;
        continue;
      }
      if (errors.length === 0) return resealed;
      throw new AggregateError(errors, `${errors.length} secrets were not sealed anew`);
    }
  }
}

/** Owner and name are part of what is authenticated: a row copied to another owner does not open. */
const aadOf = (owner: string, name: string): string => `secret\0${owner}\0${name}`;

const describe = ({ name, version, updated_at }: Row): SecretDescription => ({
  name,
  version,
  updatedAt: updated_at,
});

function assertName(name: string): void {
  if (NAME.test(name)) return;
  throw new HangarError('invalid', 'That is not a name for a secret.', {
    hint: 'Use letters, digits and "_", not a digit first, at most 128 characters: NPM_TOKEN.',
  });
}

function assertValue(name: string, value: string): void {
  const bytes = Buffer.byteLength(value);
  if (bytes === 0 || bytes > SECRET_BYTES_MAX) {
    throw new HangarError('invalid', `The value of ${name} has ${bytes} bytes.`, {
      hint: `Allowed are 1 to ${SECRET_BYTES_MAX} bytes; to remove a secret, delete it.`,
    });
  }
  if (value.includes('\0') || !value.isWellFormed()) {
    throw new HangarError('invalid', `The value of ${name} cannot be an environment variable.`, {
      hint: 'It holds a zero byte or half a character; encode it as base64.',
    });
  }
}
