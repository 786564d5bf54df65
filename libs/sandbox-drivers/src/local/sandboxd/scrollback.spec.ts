import { describe, expect, it } from '@jest/globals';
import { Scrollback } from './scrollback.ts';

const filled = (...chunks: string[]): Scrollback => {
  const scrollback = new Scrollback(8);
  for (const chunk of chunks) scrollback.push(Buffer.from(chunk));
  return scrollback;
};

describe('scrollback', () => {
  it('gives every byte by its offset while there is room', () => {
    const scrollback = filled('abc', 'de');
    expect([scrollback.start, scrollback.end]).toEqual([0, 5]);
    expect(scrollback.read(1, 3).toString()).toBe('bcd');
    expect(scrollback.read(5, 3)).toHaveLength(0);
  });

  it('keeps the newest, whatever the sizes of what was pushed [X8]', () => {
    const text = 'the quick brown fox jumps';
    for (const size of [1, 3, 7, 8, 9, 25]) {
      const chunks = text.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
      const scrollback = filled(...chunks);
      expect([scrollback.start, scrollback.end]).toEqual([17, 25]);
      expect(scrollback.read(17, 100).toString()).toBe('ox jumps');
      expect(scrollback.read(20, 2).toString()).toBe('jum'.slice(0, 2));
      expect(scrollback.read(16, 100)).toHaveLength(0);
    }
  });

  it('a place that is not kept any more is the next start of a line', () => {
    const scrollback = filled('0123456789\nabc');
    expect(scrollback.place(0)).toBe(11);
    expect(scrollback.place(12)).toBe(12);
    expect(scrollback.place(99)).toBe(14);
    expect(filled('0123456789').place(0)).toBe(2);
  });
});
