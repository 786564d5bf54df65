import { describe, expect, it } from '@jest/globals';
import { MESSAGE_BYTES_MAX, sendMessageSchema } from '@hangar/contracts';
import { messageText } from './message-text.ts';

const textOf = (body: unknown): string => messageText(sendMessageSchema.parse(body));

describe('the text of a message', () => {
  it('is what was written when there are no comments', () => {
    expect(textOf({ message: 'add a test' })).toBe('add a test');
  });

  it('has each comment with its file, its line and the line itself', () => {
    const comments = [
      { path: 'src/a.ts', line: 7, code: '  return x;', text: 'What if x is null?' },
      { path: 'b.md', line: 2, side: 'old', text: 'Keep this.' },
    ];
    expect(textOf({ message: 'Two things.', comments })).toBe(
      [
        'Two things.',
        '',
        'Comments on your changes:',
        '',
        'src/a.ts:7',
        '>   return x;',
        'What if x is null?',
        '',
        'b.md:2 (a line that was removed)',
        'Keep this.',
      ].join('\n'),
    );
  });

  it('may be comments alone, but not nothing', () => {
    const comments = [{ path: 'a', line: 1, code: 'one', text: 'Why?' }];
    expect(textOf({ comments })).toBe('A comment on your change:\n\na:1\n> one\nWhy?');
    expect(sendMessageSchema.safeParse({}).success).toBe(false);
    expect(sendMessageSchema.safeParse({ comments: [] }).success).toBe(false);
  });

  it('is refused when comments make it longer than a message may be', () => {
    const comments = [{ path: 'a', line: 1, text: 'one too many' }];
    const message = 'x'.repeat(MESSAGE_BYTES_MAX);
    expect(() => textOf({ message, comments })).toThrow(/more than/);
  });
});
