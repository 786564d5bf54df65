import {
  VIEW_KEYS,
  type ViewChange,
  type ViewFilter,
  type ViewRow,
  type ViewTable,
} from './view-change.ts';

/** The read models in memory: for a session as it was at some event [L1], and for tests. */
export class MemoryViews {
  readonly #tables = new Map<ViewTable, ViewRow[]>();

  apply(changes: ViewChange[]): void {
    for (const change of changes) this.#apply(change);
  }

  rows(table: ViewTable): ViewRow[] {
    return this.#tables.get(table) ?? [];
  }

  #apply(change: ViewChange): void {
    const rows = this.rows(change.table);
    switch (change.op) {
      case 'add': {
        const isThere = rows.some((row) =>
          VIEW_KEYS[change.table].every((key) => row[key] === change.row[key]),
        );
        if (!isThere) this.#tables.set(change.table, [...rows, change.row]);
        return;
      }
      case 'set':
        this.#tables.set(
          change.table,
          rows.map((row) => (fits(row, change.where) ? { ...row, ...change.row } : row)),
        );
        return;
      case 'drop':
        this.#tables.set(
          change.table,
          rows.filter((row) => !fits(row, change.where)),
        );
    }
  }
}

const fits = (row: ViewRow, where: ViewFilter): boolean =>
  Object.entries(where).every(([column, wanted]) => {
    const value = row[column];
    return Array.isArray(wanted) ? wanted.includes(String(value)) : value === wanted;
  });
