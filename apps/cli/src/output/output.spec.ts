import { describe, expect, it } from '@jest/globals';
import { agoText, bytesText, durationText } from './quantities.ts';
import { harmless } from './style.ts';
import { aligned, tabbed, type Column } from './table.ts';

describe('a duration', () => {
  it.each([
    [0, '0 s'],
    [-3, '0 s'],
    [59.4, '59 s'],
    [60, '1 min'],
    [74, '1 min 14 s'],
    [601, '10 min'],
    [3600, '1 h'],
    [7500, '2 h 5 min'],
    [86_400, '1 d'],
    [100_000, '1 d 3 h'],
    [950_000, '10 d'],
  ])('of %d s is %s', (seconds, text) => expect(durationText(seconds)).toBe(text));
});

describe('a time', () => {
  const now = new Date('2026-10-12T08:30:00Z');
  it.each([
    ['2026-10-12T08:29:58Z', 'just now'],
    ['2026-10-12T08:20:00Z', '10 min ago'],
    ['2026-10-12T08:31:00Z', 'in 1 min'],
    ['soon', 'soon'],
  ])('%s is %s', (time, text) => expect(agoText(time, now)).toBe(text));
});

describe('a size', () => {
  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1536, '1.5 KiB'],
    [120 * 1024, '120 KiB'],
    [3 * 1024 ** 3, '3.0 GiB'],
    [2048 * 1024 ** 4, '2048 TiB'],
  ])('of %d is %s', (size, text) => expect(bytesText(size)).toBe(text));
});

describe('a table', () => {
  const columns: Column<{ name: string; text: string }>[] = [
    { title: 'NAME', show: (row) => row.name },
    { title: 'TEXT', show: (row) => row.text.slice(0, 3), value: (row) => row.text, shrinks: true },
  ];
  const plain = { paint: (_tone: string, text: string) => text };

  it('in a pipe has tabs, whole values and one line a row', () => {
    const rows = [{ name: 'a', text: 'one\ttwo\nthree' }];
    expect(tabbed(columns, rows)).toBe('a\tone two three\n');
    expect(tabbed(columns, [])).toBe('');
  });

  it('at a screen fits, with the rest cut from the column that may', () => {
    const wide: Column<{ name: string; text: string }>[] = [
      { title: 'NAME', show: (row) => row.name },
      { title: 'TEXT', show: (row) => row.text, shrinks: true },
    ];
    const rows = [
      { name: 'äöü', text: 'x'.repeat(50) },
      { name: '👩‍👩‍👧', text: 'y' },
    ];
    const lines = aligned(wide, rows, { columns: 20, ...plain }).split('\n');
    expect(lines).toEqual(['NAME  TEXT', `äöü   ${'x'.repeat(13)}…`, `👩‍👩‍👧     y`, '']);
  });
});

describe('text from elsewhere', () => {
  it('keeps its lines and tabs, and loses what steers a terminal', () => {
    expect(harmless('a\tb\r\nc\u001b]0;title\u0007\u009b1m\rd')).toBe('a\tb\nc�]0;title��1m�d');
  });
});
