import type { Transaction } from '@hangar/messaging';
import { VIEW_KEYS, type ViewChange, type ViewFilter, type ViewRow } from './view-change.ts';
import { JSON_COLUMNS } from './view-tables.ts';

interface Sql {
  text: string;
  values: unknown[];
}

/** Writes changes in their order; names of tables and columns never come from data. */
export async function writeChanges(
  tx: Transaction,
  schema: string,
  changes: ViewChange[],
): Promise<void> {
  for (const change of changes) {
    const sql = sqlOf(schema, change);
    if (sql) await tx.query(sql.text, sql.values);
  }
}

export function sqlOf(schema: string, change: ViewChange): Sql | null {
  const table = `${schema}.${change.table}`;
  const values: unknown[] = [];
  const place = (value: unknown): string => `$${values.push(value)}`;
  switch (change.op) {
    case 'add': {
      const columns = Object.keys(change.row);
      const placed = columns.map((column) => place(valueOf(column, change.row)));
      const key = VIEW_KEYS[change.table].join();
      const text = `insert into ${table} (${columns.join()}) values (${placed.join()})
        on conflict (${key}) do nothing`;
      return { text, values };
    }
    case 'set': {
      const columns = Object.keys(change.row);
      if (columns.length === 0) return null;
      const sets = columns.map((column) => `${column} = ${place(valueOf(column, change.row))}`);
      return {
        text: `update ${table} set ${sets.join()} where ${filter(change.where, place)}`,
        values,
      };
    }
    case 'drop':
      return { text: `delete from ${table} where ${filter(change.where, place)}`, values };
  }
}

function valueOf(column: string, row: ViewRow): unknown {
  const value = row[column];
  return JSON_COLUMNS.has(column) && value !== null ? JSON.stringify(value) : value;
}

const filter = (where: ViewFilter, place: (value: unknown) => string): string =>
  Object.entries(where)
    .map(([column, value]) =>
      Array.isArray(value) ? `${column} = any(${place(value)})` : `${column} = ${place(value)}`,
    )
    .join(' and ');
