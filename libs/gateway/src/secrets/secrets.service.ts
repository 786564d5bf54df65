import { HangarError, type SecretDocument, type SetSecret } from '@hangar/contracts';
import { SecretStore, type SecretDescription, type Vault } from '@hangar/service-kit';
import type { AccessLog, StoreConnection } from '../auth/access-log.ts';
import type { Caller } from '../auth/caller.ts';
import type { Creation, Idempotency } from '../idempotency/idempotency.ts';

export interface SecretsParts {
  pool: StoreConnection;
  vault: Vault;
  log: AccessLog;
  idempotency: Idempotency;
  now(): Date;
}

/** Write-only secrets of an owner [Z2]: values go in here, and come out only in a run. */
export class SecretsService {
  readonly #parts: SecretsParts;

  constructor(parts: SecretsParts) {
    this.#parts = parts;
  }

  #store(connection: StoreConnection): SecretStore {
    return new SecretStore(connection, this.#parts.vault, { now: this.#parts.now });
  }

  async list(caller: Caller): Promise<{ items: SecretDocument[] }> {
    const found = await this.#store(this.#parts.pool).list(caller.owner);
    return { items: found.map(secretDocument) };
  }

  set(caller: Caller, creation: Creation, { name, value }: SetSecret): Promise<SecretDocument> {
    const { log, idempotency } = this.#parts;
    const { owner } = caller;
    return idempotency.once(caller, creation, () =>
      log.change(caller, owner, async (connection) => {
        const known = await idempotency.recall<SecretDocument>(connection, caller, creation);
        if (known) return { result: known, event: null };
        const result = secretDocument(await this.#store(connection).set(owner, name, value));
        await idempotency.keep(connection, caller, creation, result);
        const data = { owner, name, version: result.version };
        return { result, event: { type: 'SecretSet', data } };
      }),
    );
  }

  async delete(caller: Caller, name: string): Promise<void> {
    const { owner } = caller;
    await this.#parts.log.change(caller, owner, async (connection) => {
      const store = this.#store(connection);
      const isThere = (await store.list(owner)).some((secret) => secret.name === name);
      if (!isThere) {
        throw new HangarError('not_found', `You have no secret called ${name}.`, {
          hint: 'GET /api/secrets (hangar secret list) shows the names you have.',
        });
      }
      await store.delete(owner, name);
      return { result: null, event: { type: 'SecretDeleted', data: { owner, name } } };
    });
  }
}

const secretDocument = (secret: SecretDescription): SecretDocument => ({
  name: secret.name,
  version: secret.version,
  updated_at: secret.updatedAt.toISOString(),
});
