import type { WebhookEvent } from '@hangar/contracts';
import type { Cursor } from '@hangar/messaging';
import type { Vault } from '@hangar/service-kit';
import { ask, type Connection } from './ask.ts';

export interface NewWebhook {
  id: string;
  owner: string;
  name: string;
  events: WebhookEvent[];
  createdAt: Date;
}

/** As it is kept: `open` gives its address and secret. */
export interface Webhook extends NewWebhook {
  sealed: Buffer;
  disabledAt: Date | null;
}

export interface Opened {
  url: string;
  secret: string;
}

const COLUMNS = `id, owner, name, sealed, events, disabled_at as "disabledAt",
  created_at as "createdAt"`;
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
    webhook: NewWebhook,
    opened: Opened,
    after: Cursor,
  ): Promise<void> {
    const { id, owner, name, events, createdAt } = webhook;
    const sealed = this.#vault.seal(JSON.stringify(opened), aadOf(webhook));
    const { fence, position } = after;
    await ask(connection, ADD, [id, owner, name, sealed, events, fence, position, createdAt]);
  }

  list(connection: Connection, owner: string): Promise<Webhook[]> {
    return ask(connection, LIST, [owner]);
  }

  async find(connection: Connection, owner: string, name: string): Promise<Webhook | null> {
    return (await ask<Webhook>(connection, FIND, [owner, name]))[0] ?? null;
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

  /** Throws `invalid` where the vault key that sealed it is not there. */
  open(webhook: Pick<Webhook, 'id' | 'owner' | 'sealed'>): Opened {
    const text = this.#vault.unseal(webhook.sealed, aadOf(webhook)).toString('utf8');
    return JSON.parse(text) as Opened;
  }

  /** After a rotation: seals anew what an older vault key sealed; throws at its end for the rest. */
  async reseal(connection: Connection): Promise<void> {
    const errors: unknown[] = [];
    for (let after = FIRST_ID; ;) {
      const page = await ask<Webhook>(connection, PAGE, [after, PAGE_ROWS]);
      for (const webhook of page) {
        const { id, sealed } = webhook;
        if (!this.#vault.isStale(sealed)) continue;
        const aad = aadOf(webhook);
        try {
          const young = this.#vault.seal(this.#vault.unseal(sealed, aad), aad);
          await ask(connection, RESEAL, [id, young]);
        } catch (error) {
          errors.push(error);
        }
      }
      const last = page.at(-1);
      if (last && page.length === PAGE_ROWS) {
        after = last.id;
        continue;
      }
      if (errors.length === 0) return;
      throw new AggregateError(errors, `${errors.length} webhooks were not sealed anew`);
    }
  }
}

/** Part of what is authenticated: a row copied to another webhook or owner does not open. */
const aadOf = ({ id, owner }: Pick<Webhook, 'id' | 'owner'>): string => `webhook\0${owner}\0${id}`;
