import {
  HangarError,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  type AuditQuery,
  type EventDocument,
  type Page,
  type ReplayQuery,
  type SessionDocument,
  type VerifyDocument,
} from '@hangar/contracts';
import { PROBLEMS_MAX, type EventMeta, type EventStore, type JsonObject } from '@hangar/messaging';
import type { Response } from 'express';
import type { Pool } from 'pg';
import type { Caller } from '../auth/caller.ts';
import { decodeFeed, encodeFeed } from '../live/event-source.ts';
import { eventDocument } from '../live/event.document.ts';
import type { SessionReader } from '../sessions/session.reader.ts';
import { auditSql, SESSION_STREAMS } from './audit.sql.ts';
import { replaySession } from './replay.ts';

export interface AuditParts {
  pool: Pool;
  store: Pick<EventStore, 'verify' | 'readStream'>;
  reader: SessionReader;
}

interface Row {
  stream: string;
  version: number;
  id: string;
  type: string;
  schema: number;
  data: JsonObject;
  meta: EventMeta;
  at: Date;
  fence_text: string;
  position_text: string;
  owner: string | null;
}

/** Behind everything, for reading backwards. */
const END = { fence: '18446744073709551615', position: '9223372036854775807' };

/** The log for auditors: listed, exported, checked and replayed [L1]. */
export class AuditService {
  readonly #parts: AuditParts;

  constructor(parts: AuditParts) {
    this.#parts = parts;
  }

  async list(caller: Caller, query: AuditQuery): Promise<Page<EventDocument>> {
    const size = query.limit ?? PAGE_SIZE_DEFAULT;
    const found = await this.#read(caller, query, query.cursor, size + 1);
    const items = found.slice(0, size);
    return { items, next_cursor: found.length > size ? (items.at(-1)?.cursor ?? null) : null };
  }

  /** One event a line, from the cursor to the end, a page in memory at a time. */
  async export(caller: Caller, query: AuditQuery, response: Response): Promise<void> {
    let cursor = query.cursor;
    let page = await this.#read(caller, query, cursor, PAGE_SIZE_MAX);
    response.setHeader('Content-Type', 'application/jsonl; charset=utf-8');
    response.setHeader('Content-Disposition', 'attachment; filename="audit.jsonl"');
    while (page.length > 0 && !caller.gone.aborted) {
      const lines = page.map((event) => `${JSON.stringify(event)}\n`).join('');
      if (!response.write(lines)) await drained(response, caller.gone);
      if (page.length < PAGE_SIZE_MAX) break;
      cursor = page.at(-1)?.cursor;
      page = await this.#read(caller, query, cursor, PAGE_SIZE_MAX);
    }
    response.end();
  }

  async #read(
    caller: Caller,
    query: AuditQuery,
    cursor: string | undefined,
    rows: number,
  ): Promise<EventDocument[]> {
    const { pool } = this.#parts;
    const order = query.order ?? 'asc';
    const start = order === 'asc' ? { fence: '0', position: '0' } : END;
    const { fence, position } = cursor === undefined ? start : decodeFeed(cursor);
    const streams = query.session ? await this.#streams(caller, query.session) : null;
    const answer = await pool.query<Row>(auditSql(order), [
      fence,
      position,
      ownerOf(caller, query),
      streams,
      query.actor ?? null,
      query.type ?? null,
      query.since ?? null,
      query.until ?? null,
      rows,
    ]);
    return answer.rows.map(documentOf);
  }

  /** A session's own stream, and those of its sandboxes, checkpoints and runs. */
  async #streams(caller: Caller, ref: string): Promise<string[]> {
    const { pool, reader } = this.#parts;
    const id = await reader.idForAudit(caller.owner, ref);
    const number = id.slice('ses-'.length);
    const parts = ['sandbox/sbx', 'checkpoint/ckp', 'run/run', 'terminal/trm'].map(
      (p) => `${p}-${number}-%`,
    );
    const answer = await pool.query<{ id: string }>(SESSION_STREAMS, [`session/${id}`, parts]);
    return answer.rows.map((row) => row.id);
  }

  /** Of one session, or of the whole log for an admin. */
  async verify(caller: Caller, ref: string | undefined): Promise<VerifyDocument> {
    if (ref === undefined) {
      requireAdmin(caller, 'Checking the whole log');
      const problems = await this.#parts.store.verify();
      return { ok: problems.length === 0, problems };
    }
    const problems = [];
    for (const stream of await this.#streams(caller, ref)) {
      problems.push(...(await this.#parts.store.verify(stream)));
      if (problems.length >= PROBLEMS_MAX) break;
    }
    return { ok: problems.length === 0, problems: problems.slice(0, PROBLEMS_MAX) };
  }

  /** The session as it was when its stream had this version; as it is now without one. */
  async replay(caller: Caller, query: ReplayQuery): Promise<SessionDocument> {
    const session = await this.#parts.reader.find(caller.owner, query.session);
    return replaySession(this.#parts.store, session.id, query.version ?? session.version);
  }
}

function ownerOf(caller: Caller, query: AuditQuery): string | null {
  if (query.owner === undefined || query.owner === caller.owner) return caller.owner;
  requireAdmin(caller, 'Reading events of others');
  return query.owner === '*' ? null : query.owner;
}

function requireAdmin(caller: Caller, what: string): void {
  if (caller.scopes.includes('admin')) return;
  throw new HangarError('forbidden', `${what} needs a token with the scope admin.`, {
    hint: 'Leave owner out, or name a session of yours: ?session=NAME.',
  });
}

const documentOf = (row: Row): EventDocument => {
  const position = { fence: row.fence_text, position: row.position_text };
  const { stream, version, id, type, schema, data, meta } = row;
  const aggregate = stream.slice(0, stream.indexOf('/'));
  const at = row.at.toISOString();
  const event = { stream, aggregate, version, id, type, schema, data, meta, at, position };
  return eventDocument(event, row.owner, encodeFeed(position));
};

function drained(response: Response, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    response.once('drain', resolve);
    gone.addEventListener('abort', () => resolve(), { once: true });
  });
}
