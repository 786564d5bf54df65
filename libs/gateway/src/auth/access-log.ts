import { HangarError, type AccessEvents } from '@hangar/contracts';
import { streamName, type EventStore, type Transaction } from '@hangar/messaging';
import { inTransaction } from '@hangar/messaging/postgres';
import type { Pool } from 'pg';
import { metaOf, type Caller } from './caller.ts';

/** What the stores of service-kit need of a connection. */
export type StoreConnection = Pick<Pool, 'query'>;

/** Writers of one owner's stream that come between are waited for this often. */
const ATTEMPTS_MAX = 20;

const VERSION =
  'select coalesce(max(version), 0)::int as version from es.event where stream_id = $1';
/** Until the transaction ends; two changes of one owner's access take turns. */
const LOCK = "select pg_advisory_xact_lock(hashtextextended('access/' || $1, 0))";

/**
 * The gateway owns the access aggregate: what changes in the stores of secrets and tokens, and the
 * event that tells of it, commit together or not at all [L1].
 */
export class AccessLog {
  readonly #pool: Pool;
  readonly #store: EventStore;

  constructor(pool: Pool, store: EventStore) {
    this.#pool = pool;
    this.#store = store;
  }

  /** `work` changes a store through the connection, and names the event that says so, or none. */
  async change<T, Name extends keyof AccessEvents>(
    caller: Caller,
    owner: string,
    work: (
      connection: StoreConnection,
    ) => Promise<{ result: T; event: { type: Name; data: AccessEvents[Name] } | null }>,
  ): Promise<T> {
    return inTransaction(this.#pool, async (tx) => {
      await tx.query(LOCK, [owner]);
      const { result, event } = await work(connectionOf(tx));
      if (event) await this.#append(tx, owner, event, caller);
      return result;
    });
  }

  async #append(
    tx: Transaction,
    owner: string,
    event: { type: string; data: object },
    caller: Caller,
  ): Promise<void> {
    const stream = streamName('access', owner);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const [row] = (await tx.query<{ version: number }>(VERSION, [stream])).rows;
      const version = row?.version ?? 0;
      const done = await this.#store.append(stream, version, [event], { meta: metaOf(caller), tx });
      if (done.kind === 'appended') return;
    }
    throw new HangarError(
      'unavailable',
      'The log could not take the change; nothing was changed.',
      {
        hint: 'Try again.',
      },
    );
  }
}

/** The stores ask for `query` alone, with text and parameters. */
const connectionOf = (tx: Transaction): StoreConnection =>
  ({
    query: (text: string, values?: unknown[]) => tx.query(text, values),
  }) as unknown as StoreConnection;
