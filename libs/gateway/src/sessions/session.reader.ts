import {
  HangarError,
  PAGE_SIZE_DEFAULT,
  SESSION_ID_PATTERN,
  type ListSessionsQuery,
  type Page,
  type PageQuery,
  type SessionCard,
  type SessionDocument,
  type SessionSummary,
} from '@hangar/contracts';
import { Brackets, In, Not, type DataSource, type SelectQueryBuilder } from 'typeorm';
import { decodeCursor, encodeCursor } from '../storage/cursor.ts';
import {
  cardDocument,
  sessionDocument,
  sessionSummary,
  type SessionCounts,
  type SessionRows,
} from './session.document.ts';
import { CardView, CheckpointView, MessageView, SessionView, TurnView } from './session.view.ts';

const COUNTS = `select s.id,
    (select count(*)::int from view.turn_view t where t.session_id = s.id) as turn_count,
    coalesce((select t.summary from view.turn_view t
      where t.session_id = s.id and t.finished_at is not null
      order by t.number desc limit 1), '') as last_summary,
    (select count(*)::int from view.card_view c where c.session_id = s.id) as attention_count,
    (select count(*)::int from view.message_view m
      where m.session_id = s.id and m.status = 'queued') as queue_count
  from unnest($1::text[]) as s (id)`;

/** Times are compared in milliseconds, as a cursor has them. */
const CARDS = `select c.*, s.name, s.title, s.state
  from view.card_view c join view.session_view s on s.id = c.session_id
  where s.owner = $1 and s.state <> 'DELETED' and ($2::timestamptz is null
    or (date_trunc('milliseconds', c.since), c.id) > ($2::timestamptz, $3))
  order by date_trunc('milliseconds', c.since), c.id limit $4`;

type CardRow = CardView & Pick<SessionCard['session'], 'name' | 'title' | 'state'>;

/** Reads sessions of one owner; another's are not there [Z1]. Reading changes nothing [S5]. */
export class SessionReader {
  readonly #source: DataSource;

  constructor(source: DataSource) {
    this.#source = source;
  }

  /** By id or name; an archived one only when no live one has the name. Throws `not_found`. */
  async find(owner: string, ref: string): Promise<SessionView> {
    const sessions = this.#source.getRepository(SessionView);
    const byId = SESSION_ID_PATTERN.test(ref);
    const found = byId
      ? await sessions.findOneBy({ owner, id: ref, state: Not('DELETED') })
      : ((await sessions.findOneBy({
          owner,
          name: ref,
          state: Not(In(['ARCHIVED', 'DELETED'])),
        })) ??
        (await sessions.findOne({
          where: { owner, name: ref, state: 'ARCHIVED' },
          order: { created_at: 'DESC', id: 'DESC' },
        })));
    if (found) return found;
    throw new HangarError(
      'not_found',
      `You have no session ${byId ? 'with the id' : 'called'} ${ref}.`,
      {
        hint: 'GET /api/sessions (hangar session list) shows those you have.',
      },
    );
  }

  /** Also of a deleted session: its trail is kept [S6]. Throws `not_found`. */
  async idForAudit(owner: string, ref: string): Promise<string> {
    if (!SESSION_ID_PATTERN.test(ref)) return (await this.find(owner, ref)).id;
    const found = await this.#source.getRepository(SessionView).findOneBy({ owner, id: ref });
    return found?.id ?? (await this.find(owner, ref)).id;
  }

  /** null: not there, or deleted. */
  async rows(id: string): Promise<SessionRows | null> {
    const { manager } = this.#source;
    // One snapshot, so that a turn and the state that follows from it are never torn apart.
    return manager.transaction('REPEATABLE READ', async (tx) => {
      const session = await tx.findOneBy(SessionView, { id, state: Not('DELETED') });
      if (!session) return null;
      const where = { session_id: id };
      return {
        session,
        turns: await tx.findBy(TurnView, where),
        checkpoints: await tx.findBy(CheckpointView, where),
        messages: await tx.findBy(MessageView, where),
        cards: await tx.findBy(CardView, where),
      };
    });
  }

  async document(owner: string, ref: string): Promise<SessionDocument> {
    const { id } = await this.find(owner, ref);
    const rows = await this.rows(id);
    if (rows) return sessionDocument(rows);
    throw new HangarError('not_found', `Session ${ref} was deleted.`);
  }

  /** Of a message: where it is, and what the session is about. */
  async whereabouts(
    id: string,
    message_id: string,
  ): Promise<{ state: string; message: MessageView | null; turn: number | null }> {
    const where = { session_id: id, message_id };
    // One snapshot, as above: a message in between would wait and have a turn already.
    return this.#source.manager.transaction('REPEATABLE READ', async (tx) => {
      const session = await tx.findOne(SessionView, { select: { state: true }, where: { id } });
      const message = await tx.findOneBy(MessageView, where);
      const turn = await tx.findOne(TurnView, { where, order: { number: 'DESC' } });
      return {
        state: session?.state ?? 'DELETED',
        message,
        turn: message?.turn ?? turn?.number ?? null,
      };
    });
  }

  card(session_id: string, id: string): Promise<CardView | null> {
    return this.#source.getRepository(CardView).findOneBy({ session_id, id });
  }

  message(session_id: string, message_id: string): Promise<MessageView | null> {
    return this.#source.getRepository(MessageView).findOneBy({ session_id, message_id });
  }

  checkpoint(session_id: string, id: string): Promise<CheckpointView | null> {
    return this.#source.getRepository(CheckpointView).findOneBy({ session_id, id });
  }

  turns(session_id: string): Promise<TurnView[]> {
    return this.#source.getRepository(TurnView).findBy({ session_id });
  }

  /** What waits on the owner in any session, longest first. */
  async cards(owner: string, query: PageQuery): Promise<Page<SessionCard>> {
    const size = query.limit ?? PAGE_SIZE_DEFAULT;
    const [since = null, id = null] = query.cursor ? decodeCursor(query.cursor, 2) : [];
    const rows = (await this.#source.query(CARDS, [owner, since, id, size + 1])) as CardRow[];
    const page = rows.slice(0, size);
    const last = rows.length > size ? page.at(-1) : undefined;
    return {
      items: page.map(({ name, title, state, ...card }) => ({
        card: cardDocument(card),
        session: { id: card.session_id, name, title, state },
      })),
      next_cursor: last ? encodeCursor(last.since.toISOString(), last.id) : null,
    };
  }

  /** Newest first; the cursor is the last one seen, so a page never repeats or skips one. */
  async list(owner: string, query: ListSessionsQuery): Promise<Page<SessionSummary>> {
    const size = query.limit ?? PAGE_SIZE_DEFAULT;
    const sessions = this.#source.getRepository(SessionView);
    const select = sessions
      .createQueryBuilder('s')
      .where('s.owner = :owner', { owner })
      .orderBy('s.created_at', 'DESC')
      .addOrderBy('s.id', 'DESC')
      .take(size + 1);
    filterList(select, query);
    const found = await select.getMany();
    const page = found.slice(0, size);
    const last = found.length > size ? page.at(-1) : undefined;
    const counts = await this.#counts(page.map(({ id }) => id));
    return {
      items: page.map((row) => sessionSummary(row, counts.get(row.id) ?? NO_COUNTS)),
      next_cursor: last ? encodeCursor(last.created_at.toISOString(), last.id) : null,
    };
  }

  async #counts(ids: string[]): Promise<Map<string, SessionCounts>> {
    const rows = (await this.#source.query(COUNTS, [ids])) as (SessionCounts & { id: string })[];
    return new Map(rows.map(({ id, ...counts }) => [id, counts]));
  }
}

const NO_COUNTS: SessionCounts = {
  turn_count: 0,
  last_summary: '',
  attention_count: 0,
  queue_count: 0,
};

function filterList(select: SelectQueryBuilder<SessionView>, query: ListSessionsQuery): void {
  if (query.state) select.andWhere('s.state = :state', { state: query.state });
  else select.andWhere("s.state <> 'DELETED'");
  if (query.environment) select.andWhere('s.environment = :environment', query);
  if (query.q) {
    // Not a pattern: what a person types stands for itself.
    const like = `%${query.q.replace(/[\\%_]/g, '\\$&')}%`;
    const anywhere = ['s.name', 's.title', 's.repo', 's.branch'].map((c) => `${c} ilike :like`);
    select.andWhere(new Brackets((any) => any.where(anywhere.join(' or '), { like })));
  }
  if (query.cursor) {
    const [createdAt, id] = decodeCursor(query.cursor, 2);
    select.andWhere('(s.created_at, s.id) < (:createdAt::timestamptz, :id)', { createdAt, id });
  }
}
