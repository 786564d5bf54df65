import { PAGE_SIZE_MAX, type Page } from '@hangar/contracts';

/** Rows one command reads, over all pages. */
export const ROWS_MAX = 10_000;

/** Page after page until `rowsMax` rows are there or none is left. */
export async function readPages<Row>(
  rowsMax: number,
  read: (limit: number, cursor: string | undefined) => Promise<Page<Row>>,
): Promise<Page<Row>> {
  const items: Row[] = [];
  let cursor: string | null = null;
  do {
    const left = Math.min(PAGE_SIZE_MAX, rowsMax - items.length);
    const page: Page<Row> = await read(left, cursor ?? undefined);
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null && items.length < rowsMax);
  return { items, next_cursor: cursor };
}
