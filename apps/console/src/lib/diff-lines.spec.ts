import { describe, expect, it } from '@jest/globals';
import { countLines, diffLine } from './diff-lines.ts';

const DIFF = [
  'diff --git a/a.txt b/a.txt',
  '--- a/a.txt',
  '+++ b/a.txt',
  '@@ -3,3 +3,3 @@ head',
  ' three',
  '-four',
  '+vier',
  '+--- not a header',
  ' five',
  '@@ -20 +21 @@',
  '-old',
  '+new',
  '\\ No newline at end of file',
].join('\n');

describe('a line of a diff', () => {
  it.each([
    ['new', 3, 'three'],
    ['new', 4, 'vier'],
    ['new', 5, '--- not a header'],
    ['new', 6, 'five'],
    ['new', 21, 'new'],
    ['old', 4, 'four'],
    ['old', 5, 'five'],
    ['old', 20, 'old'],
    ['new', 7, null],
    ['new', 1, null],
    ['old', 21, null],
  ] as const)('%s %i', (side, line, text) => {
    expect(diffLine(DIFF, side, line)).toBe(text);
  });

  it('is counted as added or removed', () => {
    expect(countLines(DIFF)).toEqual({ added: 3, removed: 2 });
    expect(countLines(null)).toEqual({ added: 0, removed: 0 });
  });
});
