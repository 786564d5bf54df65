import type { WebhookEvent } from '@hangar/contracts';
import type { Cursor } from '@hangar/messaging';
import type { Vault } from '@hangar/service-kit';
import { ask, type Connection } from './ask.ts';

export interface Webhook {
  id: string;
  owner: string;
  name: string;
  url: string;
  events: WebhookEvent[];
  disabledAt: Date | null;
  createdAt: Date;
}

interface Row {
  id: string;
  owner: string;
  name: string;
  sealed: Buffer;
  events: WebhookEvent[];
  disabled_at: Date | null;
  created_at: Date;
}

const COLUMNS = 'id, owner, name, sealed, events, disabled_at, created_at';
const COUNT = 'select count(*)::int as n from gateway.webhook where owner = $1';
const ADD = `insert into gateway.webhook
    (id, owner, name, sealed, events, after_fence, after_position, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`;
const LIST = `select ${COLUMNS} from gateway.webhook where owner = $1 order by name`;
const FIND = `select ${COLUMNS} from gateway.webhook where owner = $1 and name = $2`;
const DELETE = 'delete from gateway.webhook where id = $1';
/** The lock makes a webhook that is being disabled or deleted wait for the rows written to it. */
const WANTING = `select id from gateway.webhook
  where owner = $1 and $2 = any(events) and disabled_at is null
    and (after_fence, after_position) < ($3::xid8, $4::bigint)
  order by id for share`;
const PAGE = `select ${COLUMNS} from gateway.webhook where id > $1 order by id limit $2`;
const RESEAL = 'update gateway.webhook set sealed = $2 where id = $1';

const PAGE_ROWS = 100;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Webhooks of owners; address and secret are sealed with the vault key [Z2]. */
export class WebhookStore {
  readonly #vault: Vault;

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  async count(connection: Connection, owner: string): Promise<number> {
    const [row] = await ask<{ n: number }>(connection, COUNT, [owner]);
    return row?.n ?? 0;
  }

  /** It hears of what is behind `after` in the log. */
  async add(
    connection: Connection,
    webhook: Webhook,
    secret: string,
    after: Cursor,
  ): Promise<void> {
    const { id, owner, name, url, events, createdAt } = webhook;
    const sealed = this.#vault.seal(JSON.stringify({ url, secret }), aadOf(id, owner));
    const { fence, position } = after;
    await ask(connection, ADD, [id, owner, name, sealed, events, fence, position, createdAt]);
  }

  async list(connection: Connection, owner: string): Promise<Webhook[]> {
    return (await ask<Row>(connection, LIST, [owner])).map((row) => this.#webhook(row));
  }

  async find(connection: Connection, owner: string, name: string): Promise<Webhook | null> {
    const [row] = await ask<Row>(connection, FIND, [owner, name]);
    return row ? this.#webhook(row) : null;
  }

  /** Together with everything that was to be sent to it. */
  async delete(connection: Connection, id: string): Promise<void> {
    await ask(connection, DELETE, [id]);
  }

  /** Ids of those that hear of such an event; none of them changes before the transaction ends. */
  async wanting(
    connection: Connection,
    owner: string,
    event: WebhookEvent,
    at: Cursor,
  ): Promise<string[]> {
    const values = [owner, event, at.fence, at.position];
    return (await ask<{ id: string }>(connection, WANTING, values)).map(({ id }) => id);
  }

  open({ id, owner, sealed }: Pick<Row, 'id' | 'owner' | 'sealed'>): {
    url: string;
    secret: string;
  } {
    const text = this.#vault.unseal(sealed, aadOf(id, owner)).toString('utf8');
    return JSON.parse(text) as { url: string; secret: string };
  }

  /** After a rotation: seals anew what an older vault key sealed. */
  async reseal(connection: Connection): Promise<void> {
    for (let after = FIRST_ID; ;) {
      const page = await ask<Row>(connection, PAGE, [after, PAGE_ROWS]);
      for (const { id, owner, sealed } of page) {
        if (!this.#vault.isStale(sealed)) continue;
        const aad = aadOf(id, owner);
        const young = this.#vault.seal(this.#vault.unseal(sealed, aad), aad);
        await ask(connection, RESEAL, [id, young]);
      }
      const last = page.at(-1);
      if (!last || page.length < PAGE_ROWS) return;
      after = last.id;
    }
  }

  #webhook(row: Row): Webhook {
    const { id, owner, name, events, disabled_at: disabledAt, created_at: createdAt } = row;
    return { id, owner, name, url: this.open(row).url, events, disabledAt, createdAt };
  }
}

/** Part of what is authenticated: a row copied to another webhook or owner does not open. */
const aadOf = (id: string, owner: string): string => `webhook\0${owner}\0${id}`;
