import { HangarError } from '@hangar/contracts';
import type { Pool, QueryResultRow } from 'pg';

/** What the stores need of a pool, so that a transaction's client does as well. */
export type Queryable = Pick<Pool, 'query'>;

/** SQLSTATE classes that pass by themselves: connection, resources, operator, system error. */
const PASSING_CLASSES = new Set(['08', '53', '57', '58', '25']);

/**
 * Runs one statement. A database that cannot be asked is HangarError('unavailable'); a statement
 * it refuses is a fault of ours, `internal`. Neither repeats the parameters.
 */
export async function askPostgres<Row extends QueryResultRow>(
  pool: Queryable,
  sql: string,
  parameters: unknown[],
): Promise<Row[]> {
  try {
    return (await pool.query<Row>(sql, parameters)).rows;
  } catch (cause) {
    throw postgresError(cause);
  }
}

export function postgresError(cause: unknown): HangarError {
  const code = typeof cause === 'object' && cause && 'code' in cause ? String(cause.code) : '';
  const isSqlState = /^[0-9A-Z]{5}$/.test(code);
  if (isSqlState && !PASSING_CLASSES.has(code.slice(0, 2))) {
    return new HangarError('internal', `Postgres refused a statement (${code}).`, { cause });
  }
  return new HangarError('unavailable', 'The database cannot be asked at the moment.', {
    hint: 'Nothing was changed. Try again; `hangar doctor` says whether Postgres is there.',
    cause,
  });
}
