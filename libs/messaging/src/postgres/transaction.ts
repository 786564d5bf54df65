import type pg from 'pg';
import type { Statement, Transaction } from '../transaction.ts';

/** SQLSTATE classes and codes that say "not now": connection, shutdown, deadlock, serialization. */
const TRANSIENT = /^(08|40|53|57P)/;

/** An error of the database or of the way to it, that has nothing to do with what was asked. */
export function isTransientDatabaseError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && (TRANSIENT.test(code) || /^E[A-Z]+$/.test(code))) return true;
  return /Connection terminated|timeout exceeded when trying to connect|not queryable/.test(
    error.message,
  );
}

/** Runs `work` in one transaction: commits what it did if it returns, none of it if it throws. */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  const committed: (() => void)[] = [];
  let broken: Error | undefined;
  // A connection that dies while nobody waits for an answer would else end the process.
  const onError = (error: Error): void => void (broken = error);
  client.on('error', onError);
  try {
    await client.query('begin');
    const result = await work(transactionOf(client, committed));
    await client.query('commit');
    for (const callback of committed) callback();
    return result;
  } catch (error) {
    await client.query('rollback').catch((reason: Error) => (broken = reason));
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

const transactionOf = (client: pg.PoolClient, committed: (() => void)[]): Transaction => ({
  query: async <Row>(statement: string | Statement, values?: unknown[]) => {
    const config = typeof statement === 'string' ? { text: statement } : statement;
    const answer = await client.query(values ? { ...config, values } : config);
    return { rows: answer.rows as Row[], rowCount: answer.rowCount };
  },
  onCommit: (callback) => {
    committed.push(callback);
  },
});
