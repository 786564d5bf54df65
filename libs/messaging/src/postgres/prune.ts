import type pg from 'pg';

/** Rows removed in one statement, at most, so that no statement holds the feed back for long. */
const ROWS_MAX = 5000;

const COMMANDS = `delete from es.command where id in (
  select id from es.command where at < now() - make_interval(days => $1) limit $2)`;
const EFFECTS = `delete from es.effect where key in (
  select key from es.effect
  where state = 'done' and created_at < now() - make_interval(days => $1) limit $2)`;

/**
 * Forgets answers of commands and done effects that are older than `olderThanDays`. Nothing of
 * the log itself is ever removed. Returns the rows removed; call again while it is not 0.
 */
export async function pruneEventLog(pool: pg.Pool, olderThanDays: number): Promise<number> {
  const commands = await pool.query(COMMANDS, [olderThanDays, ROWS_MAX]);
  const effects = await pool.query(EFFECTS, [olderThanDays, ROWS_MAX]);
  return (commands.rowCount ?? 0) + (effects.rowCount ?? 0);
}
