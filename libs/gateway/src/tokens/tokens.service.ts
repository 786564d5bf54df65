import {
  HangarError,
  type CreatedToken,
  type CreateToken,
  type TokenDocument,
  type Who,
} from '@hangar/contracts';
import { TokenStore, type TokenDescription } from '@hangar/service-kit';
import type { AccessLog, StoreConnection } from '../auth/access-log.ts';
import type { Caller } from '../auth/caller.ts';
import type { Creation, Idempotency } from '../idempotency/idempotency.ts';

export interface TokensParts {
  /** The one that requests are resolved with: revoking through it is seen here at once. */
  tokens: TokenStore;
  log: AccessLog;
  idempotency: Idempotency;
  clock: { now(): Date; monotonicMillis(): number };
}

/** Access tokens, which only an admin makes and revokes [Z1]. */
export class TokensService {
  readonly #parts: TokensParts;

  constructor(parts: TokensParts) {
    this.#parts = parts;
  }

  who(caller: Caller): Who {
    return { token_id: caller.tokenId, owner: caller.owner, scopes: [...caller.scopes] };
  }

  async list(): Promise<{ items: TokenDocument[] }> {
    return { items: (await this.#parts.tokens.list(null)).map(tokenDocument) };
  }

  /** The value is in this answer, and in its repetition by the same key; nowhere else. */
  create(caller: Caller, creation: Creation, body: CreateToken): Promise<CreatedToken> {
    const { log, idempotency } = this.#parts;
    const owner = body.owner ?? caller.owner;
    const expiresAt = body.expires_at === undefined ? null : new Date(body.expires_at);
    return idempotency.once(caller, creation, () =>
      log.change(caller, owner, async (connection) => {
        // A twin of this request may have made it while this one waited for its turn.
        const known = await idempotency.recall<CreatedToken>(connection, caller, creation);
        if (known) return { result: known, event: null };
        const { name, scope } = body;
        const made = await this.#store(connection).create({ owner, name, scope, expiresAt });
        const { tokenId: token_id } = made.description;
        const result = { ...tokenDocument(made.description), token: made.token };
        await idempotency.keep(connection, caller, creation, result);
        return {
          result,
          event: {
            type: 'TokenCreated',
            data: { token_id, owner, scopes: scopesOf(scope), label: name },
          },
        };
      }),
    );
  }

  async revoke(caller: Caller, id: string): Promise<void> {
    const known = (await this.#parts.tokens.list(null)).find(({ tokenId }) => tokenId === id);
    if (!known) {
      throw new HangarError('not_found', `There is no token ${id}.`, {
        hint: 'GET /api/tokens (hangar token list) shows them; HANGAR_TOKEN is not among them.',
      });
    }
    const { owner } = known;
    await this.#parts.log.change(caller, owner, async (connection) => {
      const isRevoked = known.revokedAt !== null;
      await this.#store(connection).revoke(id, owner);
      const event = { type: 'TokenRevoked', data: { token_id: id, owner } } as const;
      return { result: null, event: isRevoked ? null : event };
    });
    // Only now is it in the database; this forgets what is remembered of it in this process.
    await this.#parts.tokens.revoke(id, owner);
  }

  #store(connection: StoreConnection): TokenStore {
    return new TokenStore(connection, { clock: this.#parts.clock });
  }
}

/** Each scope holds those after it, as the token store has it. */
const scopesOf = (scope: TokenDocument['scope']): string[] => {
  const all = ['admin', 'write', 'read'];
  return all.slice(all.indexOf(scope));
};

const tokenDocument = (token: TokenDescription): TokenDocument => ({
  id: token.tokenId,
  owner: token.owner,
  name: token.name,
  scope: token.scope,
  created_at: token.createdAt.toISOString(),
  expires_at: token.expiresAt?.toISOString() ?? null,
  revoked_at: token.revokedAt?.toISOString() ?? null,
});
