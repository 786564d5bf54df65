import type { Transaction } from '@hangar/messaging';
import type { Pool } from 'pg';

/** The pool, or an open transaction. */
export type Connection = Pick<Pool, 'query'> | Pick<Transaction, 'query'>;

export async function ask<Row>(
  connection: Connection,
  sql: string,
  values: unknown[],
): Promise<Row[]> {
  const { rows } = await (connection as Pick<Transaction, 'query'>).query<Row>(sql, values);
  return rows;
}
