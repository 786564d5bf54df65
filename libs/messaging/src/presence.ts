import { HangarError } from '@hangar/contracts';
import type pg from 'pg';
import type { Transaction } from './transaction.ts';

/**
 * Who uses a sandbox right now ([X4]): keystrokes and commands are no events, they move a time in
 * one row. A suspend reads the row under a lock and closes it in the transaction that decides, so
 * that idle is judged and suspend decided in one step.
 */
export interface Presence {
  /** Marks use; throws `conflict` once the sandbox is being suspended. */
  touch(sandboxId: string): Promise<void>;
  /** A terminal is open: keeps the sandbox busy until `seconds` from now, renewed by its holder. */
  hold(sandboxId: string, seconds: number): Promise<void>;
  /** Read under a lock, until the transaction ends. */
  read(sandboxId: string, tx: Transaction): Promise<{ lastActiveAt: Date | null; held: boolean }>;
  /** Lets nobody in any more, or lets them in again. */
  close(sandboxId: string, closed: boolean, tx: Transaction): Promise<void>;
  forget(sandboxId: string): Promise<void>;
  lastActive(sandboxIds: string[]): Promise<Map<string, { at: Date; held: boolean }>>;
}

/** Use within this time counts as activity [X4]. */
export const ACTIVE_SECONDS = 90;
/** More often than this a use is not written: idle is counted in minutes. */
const TOUCH_MS_MIN = 1000;
const TOUCHED_MAX = 10_000;

const TOUCH = `insert into es.presence (sandbox_id, last_active_at) values ($1, now())
  on conflict (sandbox_id) do update set last_active_at = now() where not es.presence.closed`;
const HOLD = `insert into es.presence (sandbox_id, last_active_at, held_until)
  values ($1, now(), now() + make_interval(secs => $2))
  on conflict (sandbox_id) do update
    set last_active_at = now(), held_until = excluded.held_until where not es.presence.closed`;
const ENSURE = 'insert into es.presence (sandbox_id) values ($1) on conflict do nothing';
const READ = `select last_active_at as "lastActiveAt", coalesce(held_until > now(), false) as held
  from es.presence where sandbox_id = $1 for update`;
const CLOSE = `insert into es.presence (sandbox_id, closed) values ($1, $2)
  on conflict (sandbox_id) do update set closed = excluded.closed`;

export const PRESENCE_TABLE = `create table if not exists es.presence (
  sandbox_id text primary key,
  last_active_at timestamptz,
  held_until timestamptz,
  closed boolean not null default false
);`;

export function createPresence(pool: pg.Pool): Presence {
  const touched = new Map<string, number>();
  const write = async (sql: string, values: unknown[]): Promise<void> => {
    const { rowCount } = await pool.query(sql, values);
    if (rowCount) return;
    throw new HangarError('conflict', 'the session is being suspended; nothing was run', {
      hint: 'open it again when it is suspended, then repeat this',
    });
  };
  return {
    touch: async (sandboxId) => {
      const now = performance.now();
      if (now - (touched.get(sandboxId) ?? -Infinity) < TOUCH_MS_MIN) {
        const { rows } = await pool.query<{ closed: boolean }>(
          'select closed from es.presence where sandbox_id = $1',
          [sandboxId],
        );
        if (!rows[0]?.closed) return;
      }
      await write(TOUCH, [sandboxId]);
      if (touched.size >= TOUCHED_MAX) touched.clear();
      touched.set(sandboxId, now);
    },
    hold: (sandboxId, seconds) => write(HOLD, [sandboxId, seconds]),
    read: async (sandboxId, tx) => {
      await tx.query(ENSURE, [sandboxId]);
      const { rows } = await tx.query<{ lastActiveAt: Date | null; held: boolean }>(READ, [
        sandboxId,
      ]);
      return rows[0] ?? { lastActiveAt: null, held: false };
    },
    close: async (sandboxId, closed, tx) => {
      await tx.query(CLOSE, [sandboxId, closed]);
    },
    forget: async (sandboxId) => {
      await pool.query('delete from es.presence where sandbox_id = $1', [sandboxId]);
      touched.delete(sandboxId);
    },
    lastActive: async (sandboxIds) => {
      const { rows } = await pool.query<{ id: string; at: Date; held: boolean }>(
        `select sandbox_id as id, last_active_at as at, coalesce(held_until > now(), false) as held
         from es.presence where sandbox_id = any($1) and last_active_at is not null`,
        [sandboxIds],
      );
      return new Map(rows.map(({ id, at, held }) => [id, { at, held }]));
    },
  };
}
