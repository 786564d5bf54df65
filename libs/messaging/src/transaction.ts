/** Answer to a statement: rows as objects keyed by column. */
export interface QueryAnswer<Row> {
  rows: Row[];
  rowCount: number | null;
}

/** SQL that the server keeps prepared under `name`; `rowMode` array gives rows without keys. */
export interface Statement {
  name?: string;
  text: string;
  values?: unknown[];
  rowMode?: 'array';
}

/**
 * One open transaction, handed to consumers, timers and projections, so that what they append
 * or write commits together with the mark that says "done". Never commit it yourself.
 */
export interface Transaction {
  /** Runs SQL in the transaction; the memory log refuses it with `internal`. */
  query<Row>(statement: string | Statement, values?: unknown[]): Promise<QueryAnswer<Row>>;
  /** Called after the commit, never after a rollback; must not throw. */
  onCommit(callback: () => void): void;
}
