import { describe, expect, it } from '@jest/globals';
import type { SessionSummary } from '@hangar/contracts';
import { hasRow, withoutRows, withRow, withTop, type SessionPages } from './session-pages.ts';

const row = (id: string, title = ''): SessionSummary => ({ id, title }) as SessionSummary;
const pagesOf = (...ids: string[][]): SessionPages => ({
  pages: ids.map((each) => ({ items: each.map((id) => row(id)), next_cursor: null })),
  pageParams: ids.map(() => undefined),
});
const ids = (pages: SessionPages | null): string[][] | undefined =>
  pages?.pages.map(({ items }) => items.map(({ id }) => id));

describe('a list of many pages, kept up to date without reading them again', () => {
  const pages = pagesOf(['d', 'c'], ['b', 'a']);

  it('changes a row where it is, and loses those that are gone', () => {
    const changed = withRow(pages, row('b', 'new title'));
    expect(changed.pages[1]?.items[0]).toEqual(row('b', 'new title'));
    expect(ids(withoutRows(pages, new Set(['c', 'a'])))).toEqual([['d'], ['b']]);
    expect([hasRow(pages, 'a'), hasRow(pages, 'x'), hasRow(undefined, 'a')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('has new rows at the top, as long as they join what is known', () => {
    expect(ids(withTop(pages, [row('f'), row('e'), row('d')]))).toEqual([
      ['f', 'e', 'd', 'c'],
      ['b', 'a'],
    ]);
    expect(ids(withTop(pages, [row('d'), row('c')]))).toEqual(ids(pages));
    expect(withTop(pages, [row('z'), row('y')])).toBeNull();
  });

  it('has the first rows of all', () => {
    expect(ids(withTop(pagesOf([]), [row('a')]))).toEqual([['a']]);
  });
});
