import type { InfiniteData } from '@tanstack/react-query';
import type { Page, SessionSummary } from '@hangar/contracts';

/** The list of sessions as far as it was scrolled, newest first. */
export type SessionPages = InfiniteData<Page<SessionSummary>, string | undefined>;

const mapItems = (
  pages: SessionPages,
  change: (items: SessionSummary[]) => SessionSummary[],
): SessionPages => ({
  ...pages,
  pages: pages.pages.map((page) => ({ ...page, items: change(page.items) })),
});

export const hasRow = (pages: SessionPages | undefined, id: string): boolean =>
  pages?.pages.some(({ items }) => items.some((item) => item.id === id)) ?? false;

export const withRow = (pages: SessionPages, row: SessionSummary): SessionPages =>
  mapItems(pages, (items) => items.map((item) => (item.id === row.id ? row : item)));

export const withoutRows = (pages: SessionPages, ids: ReadonlySet<string>): SessionPages =>
  mapItems(pages, (items) => items.filter(({ id }) => !ids.has(id)));

/**
 * With the rows that are new at the top; null when `top`, read just now, does not reach down to what
 * is known, so that there may be more between them.
 */
export function withTop(pages: SessionPages, top: SessionSummary[]): SessionPages | null {
  const isNew = ({ id }: SessionSummary): boolean => !hasRow(pages, id);
  const fresh = top.filter(isNew);
  const [first, ...others] = pages.pages;
  if (!first || (fresh.length === top.length && first.items.length > 0)) return null;
  return { ...pages, pages: [{ ...first, items: [...fresh, ...first.items] }, ...others] };
}
