import { askPostgres, type Queryable } from './postgres/ask-postgres.ts';
import {
  FORGET_HANDED_SQL,
  LIST_HANDED_SQL,
  NOTE_HANDED_SQL,
  PRUNE_HANDED_SQL,
} from './postgres/handed-credential.sql.ts';
import type { KnownSecret } from './redact.ts';
import type { Vault } from './vault.ts';

/** Values of one sandbox, the newest; a token that expires every minute fills it in two hours. */
export const HANDED_MAX = 128;

/**
 * Which values a sandbox was given, so that whoever tells of its runs can hide them [Z2], also
 * those that came by a rotation and after a restart. Sealed with the vault key like the secrets
 * themselves, and gone with the sandbox. Never a source of credentials.
 */
export class HandedCredentials {
  readonly #pool: Queryable;
  readonly #vault: Vault;

  constructor(pool: Queryable, vault: Vault) {
    this.#pool = pool;
    this.#vault = vault;
  }

  async note(sandboxId: string, { name, value }: KnownSecret): Promise<void> {
    const sealed = this.#vault.seal(value, aadOf(sandboxId));
    await askPostgres(this.#pool, NOTE_HANDED_SQL, [sandboxId, name, sealed]);
    await askPostgres(this.#pool, PRUNE_HANDED_SQL, [sandboxId, HANDED_MAX]);
  }

  /** Newest first. */
  async list(sandboxId: string): Promise<KnownSecret[]> {
    const rows = await askPostgres<{ name: string; sealed: Buffer }>(this.#pool, LIST_HANDED_SQL, [
      sandboxId,
      HANDED_MAX,
    ]);
    return rows.flatMap(({ name, sealed }) => {
      const value = this.#open(sandboxId, sealed);
      return value === null ? [] : [{ name, value }];
    });
  }

  async forget(sandboxId: string): Promise<void> {
    await askPostgres(this.#pool, FORGET_HANDED_SQL, [sandboxId]);
  }

  /** One whose vault key was taken away is lost for hiding, and no reason for a run to fail. */
  #open(sandboxId: string, sealed: Buffer): string | null {
    try {
      return this.#vault.unseal(sealed, aadOf(sandboxId)).toString('utf8');
    } catch {
      return null;
    }
  }
}

/** The sandbox is part of what is authenticated: a row of another one does not open. */
const aadOf = (sandboxId: string): string => `handed\0${sandboxId}`;
