import type pg from 'pg';
import { storable } from './append-request.ts';
import type { JsonObject } from './json.ts';

/**
 * What an agent did, item by item, as its runs tell it. No events: nothing is decided on them, and
 * a chatty turn would drown the log (ADR 0021). An item's place follows from the run's output
 * alone, so that a run whose output is read again writes nothing twice.
 */
export interface ActivityPlace {
  turn: number;
  /** 0: the turn's process; 1: the one it was handed off to. */
  part: number;
  /** From 1, without gaps. */
  seq: number;
}

export interface ActivityEntry extends ActivityPlace {
  /** RFC 3339. */
  at: string;
  item: JsonObject;
}

export interface ActivityLog {
  /** What is there already stays as it is. */
  append(sessionId: string, entries: ActivityEntry[]): Promise<void>;
  /** The newest `seq` of a process; 0 when there is none. */
  lastSeq(sessionId: string, turn: number, part: number): Promise<number>;
  /** In order, after a place; `limit` at most. */
  read(sessionId: string, after: ActivityPlace, limit: number): Promise<ActivityEntry[]>;
  /** The newest place; zeros when there is none. */
  head(sessionId: string): Promise<ActivityPlace>;
  /** For good: a run that still ends while its session is deleted adds nothing to it. */
  forget(sessionId: string): Promise<void>;
}

/** Seed of the locks by which appends and the forgetting of one session wait for each other. */
const FORGET_LOCK = 21;

export const ACTIVITY_TABLE = `create table if not exists es.activity (
  session_id text not null,
  turn integer not null,
  part integer not null,
  seq integer not null,
  at timestamptz not null,
  item jsonb not null,
  primary key (session_id, turn, part, seq)
);
create table if not exists es.activity_forgotten (session_id text primary key);
create or replace function es.append_activity(session text, entries jsonb) returns void
language plpgsql as $$
begin
  -- Before the look at what was forgotten: a forgetting that goes on at this moment is waited for.
  perform pg_advisory_xact_lock_shared(hashtextextended(session, ${FORGET_LOCK}));
  insert into es.activity (session_id, turn, part, seq, at, item)
    select session, t.turn, t.part, t.seq, t.at, t.item
    from jsonb_to_recordset(entries)
      as t (turn integer, part integer, seq integer, at timestamptz, item jsonb)
    where not exists (select from es.activity_forgotten f where f.session_id = session)
    on conflict do nothing;
end $$;
create or replace function es.forget_activity(session text) returns void
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(session, ${FORGET_LOCK}));
  insert into es.activity_forgotten values (session) on conflict do nothing;
  delete from es.activity a where a.session_id = session;
end $$;`;

const APPEND = 'select es.append_activity($1, $2::jsonb)';
const FORGET = 'select es.forget_activity($1)';
const LAST = `select coalesce(max(seq), 0) as seq from es.activity
  where session_id = $1 and turn = $2 and part = $3`;
const READ = `select turn, part, seq, at, item from es.activity
  where session_id = $1 and (turn, part, seq) > ($2, $3, $4)
  order by turn, part, seq limit $5`;
const HEAD = `select turn, part, seq from es.activity where session_id = $1
  order by turn desc, part desc, seq desc limit 1`;

/** Core NATS subject on which a session's activity is told live; the table has all but the deltas. */
export const activitySubject = (sessionId: string): string => `hangar.activity.${sessionId}`;

export function createActivityLog(pool: pg.Pool): ActivityLog {
  return {
    append: async (sessionId, entries) => {
      if (entries.length > 0) await pool.query(APPEND, [sessionId, storable(entries)]);
    },
    lastSeq: async (sessionId, turn, part) => {
      const { rows } = await pool.query<{ seq: number }>(LAST, [sessionId, turn, part]);
      return rows[0]?.seq ?? 0;
    },
    read: async (sessionId, { turn, part, seq }, limit) => {
      const values = [sessionId, turn, part, seq, limit];
      const { rows } = await pool.query<Omit<ActivityEntry, 'at'> & { at: Date }>(READ, values);
      return rows.map((row) => ({ ...row, at: row.at.toISOString() }));
    },
    head: async (sessionId) => {
      const { rows } = await pool.query<ActivityPlace>(HEAD, [sessionId]);
      return rows[0] ?? { turn: 0, part: 0, seq: 0 };
    },
    forget: async (sessionId) => {
      await pool.query(FORGET, [sessionId]);
    },
  };
}
