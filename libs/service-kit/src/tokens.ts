import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import { deriveId, HangarError, newId, TOKENS_PER_OWNER_MAX } from '@hangar/contracts';
import type { Clock } from './clock.ts';
import {
  CREATE_TOKEN_SQL,
  LIST_TOKENS_SQL,
  RESOLVE_TOKEN_SQL,
  REVOKE_TOKEN_SQL,
} from './postgres/access-token.sql.ts';
import { askPostgres, type Queryable } from './postgres/ask-postgres.ts';

export type Scope = 'admin' | 'write' | 'read';
/** Each scope holds those after it ([Z1]). */
const SCOPES: readonly Scope[] = ['admin', 'write', 'read'];

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_CHARACTERS = 32;
const TOKEN = /^hgr_[0-9A-Za-z]{32}$/;

const LISTED_TOKENS_MAX = 1_000;
/** Another process's revocation is seen after this long; [Z1] grants 5 s, the rest is for the query. */
export const CACHE_MILLIS_MAX = 4_000;
export const CACHED_TOKENS_MAX = 1_000;

/** Who a request comes from. */
export interface Principal {
  owner: string;
  /** All that the token allows: a token of scope `write` has `write` and `read`. */
  scopes: readonly Scope[];
  token_id: string;
}

export interface TokenDescription {
  tokenId: string;
  owner: string;
  name: string;
  scope: Scope;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
}

export interface NewToken {
  owner: string;
  name: string;
  scope: Scope;
  expiresAt?: Date | null;
}

export interface TokenStoreOptions {
  clock: Pick<Clock, 'now' | 'monotonicMillis'>;
  /** HANGAR_TOKEN: an admin token without a row, to make the first ones with. */
  bootstrapToken?: string | null;
  bootstrapOwner?: string;
}

interface Row {
  token_id: string;
  owner: string;
  name: string;
  scope: Scope;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
}

interface Cached {
  principal: Principal;
  until: number;
}

/** Access tokens, of which only the SHA-256 is kept ([Z1]). */
export class TokenStore {
  readonly #pool: Queryable;
  readonly #clock: TokenStoreOptions['clock'];
  readonly #bootstrap: { hash: Buffer; principal: Principal } | null;
  readonly #cache = new Map<string, Cached>();

  constructor(pool: Queryable, options: TokenStoreOptions) {
    this.#pool = pool;
    this.#clock = options.clock;
    const { bootstrapToken, bootstrapOwner = 'admin' } = options;
    this.#bootstrap = bootstrapToken
      ? { hash: hashOf(bootstrapToken), principal: bootstrapPrincipal(bootstrapOwner) }
      : null;
  }

  /** The token itself is in this answer and nowhere else. Throws `invalid` or `exhausted`. */
  async create(wanted: NewToken): Promise<{ token: string; description: TokenDescription }> {
    assertNewToken(wanted);
    const token = newToken();
    const { owner, name, scope, expiresAt = null } = wanted;
    const [row] = await askPostgres<Row>(this.#pool, CREATE_TOKEN_SQL, [
      newId('tok'),
      owner,
      name,
      scope,
      hashOf(token),
      this.#clock.now(),
      expiresAt,
      TOKENS_PER_OWNER_MAX,
    ]);
    if (row) return { token, description: describe(row) };
    throw new HangarError('exhausted', `An owner has ${TOKENS_PER_OWNER_MAX} tokens at most.`, {
      hint: 'Revoke one that is not used any more.',
    });
  }

  /** Of one owner, or of all with `null`; the newest 1000, with the revoked ones. */
  async list(owner: string | null): Promise<TokenDescription[]> {
    const parameters = [owner, LISTED_TOKENS_MAX];
    return (await askPostgres<Row>(this.#pool, LIST_TOKENS_SQL, parameters)).map(describe);
  }

  /** False where this owner (anybody, with `null`) has no such token. Revoking again is true again. */
  async revoke(tokenId: string, owner: string | null): Promise<boolean> {
    const [row] = await askPostgres<{ token_hash: Buffer }>(this.#pool, REVOKE_TOKEN_SQL, [
      tokenId,
      owner,
      this.#clock.now(),
    ]);
    if (row) this.#cache.delete(row.token_hash.toString('base64'));
    return row !== undefined;
  }

  /**
   * Whose token this is; null for one that is unknown, revoked or expired. Throws `unavailable`
   * where the database cannot be asked: that is not the same as a wrong token.
   */
  async resolve(token: string): Promise<Principal | null> {
    const hash = hashOf(token);
    if (this.#bootstrap && timingSafeEqual(hash, this.#bootstrap.hash)) {
      return this.#bootstrap.principal;
    }
    if (!TOKEN.test(token)) return null;
    const key = hash.toString('base64');
    const now = this.#clock.monotonicMillis();
    const cached = this.#cache.get(key);
    if (cached && cached.until > now) return cached.principal;
    const parameters = [hash, this.#clock.now()];
    const [row] = await askPostgres<Row & { token_hash: Buffer }>(
      this.#pool,
      RESOLVE_TOKEN_SQL,
      parameters,
    );
    if (!row || !timingSafeEqual(row.token_hash, hash)) {
      this.#cache.delete(key);
      return null;
    }
    const principal = principalOf(row);
    // Counted from before the query: what was revoked while it ran is not held for longer.
    this.#remember(key, { principal, until: now + CACHE_MILLIS_MAX });
    return principal;
  }

  #remember(key: string, cached: Cached): void {
    this.#cache.delete(key);
    this.#cache.set(key, cached);
    if (this.#cache.size <= CACHED_TOKENS_MAX) return;
    const [oldest] = this.#cache.keys();
    if (oldest !== undefined) this.#cache.delete(oldest);
  }
}

/** Whether a principal may do what needs `scope`. */
export function allows(principal: Pick<Principal, 'scopes'>, scope: Scope): boolean {
  return principal.scopes.includes(scope);
}

/** 190 bits: nobody guesses one, so the hash at rest needs no salt and no slowness. */
export function newToken(): string {
  const characters = Array.from({ length: RANDOM_CHARACTERS }, () => ALPHABET[randomInt(62)]);
  return `hgr_${characters.join('')}`;
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

function bootstrapPrincipal(owner: string): Principal {
  return { owner, scopes: SCOPES, token_id: deriveId('tok', 'bootstrap', owner) };
}

function principalOf(row: Row): Principal {
  const scopes = SCOPES.slice(SCOPES.indexOf(row.scope));
  return { owner: row.owner, scopes, token_id: row.token_id };
}

const describe = (row: Row): TokenDescription => ({
  tokenId: row.token_id,
  owner: row.owner,
  name: row.name,
  scope: row.scope,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
});

function assertNewToken({ owner, name, scope }: NewToken): void {
  const field = !/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/.test(owner)
    ? 'owner: letters, digits and . _ @ -, at most 128 characters'
    : !/^[^\p{C}]{1,128}$/u.test(name)
      ? 'name: 1 to 128 printable characters'
      : !SCOPES.includes(scope)
        ? `scope: one of ${SCOPES.join(', ')}`
        : null;
  if (field) throw new HangarError('invalid', `The token is not made: ${field}.`);
}
