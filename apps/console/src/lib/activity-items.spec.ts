import { describe, expect, it } from '@jest/globals';
import type { ActivityItem } from '@hangar/contracts';
import { ITEMS_KEPT_MAX, mergeItems } from './activity-items.ts';

const item = (cursor: string): ActivityItem => ({
  cursor,
  turn: 1,
  at: '2026-11-30T12:00:00.000Z',
  type: 'message',
});
const merged = (known: string[], more: string[]): string[] =>
  mergeItems(known.map(item), more.map(item)).map(({ cursor }) => cursor);

describe('activity that is read and followed at once', () => {
  it('is in the order of its places, which are numbers', () => {
    expect(merged(['1.0.1', '1.1.9'], ['1.1.10'])).toEqual(['1.0.1', '1.1.9', '1.1.10']);
    expect(merged(['1.1.10'], ['1.1.9', '1.0.12'])).toEqual(['1.0.12', '1.1.9', '1.1.10']);
  });

  it('has each item once', () => {
    expect(merged(['1.1.1', '1.1.2'], ['1.1.2', '1.1.3'])).toEqual(['1.1.1', '1.1.2', '1.1.3']);
  });

  it('is bounded: the newest stay', () => {
    const all = Array.from({ length: ITEMS_KEPT_MAX + 5 }, (_, index) => `1.1.${index + 1}`);
    expect(merged([], all)).toHaveLength(ITEMS_KEPT_MAX);
    expect(merged([], all).at(-1)).toBe(all.at(-1));
  });
});
