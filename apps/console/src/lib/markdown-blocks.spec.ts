import { describe, expect, it } from '@jest/globals';
import { blocksOf, spansOf } from './markdown-blocks.ts';

describe('what an agent says, in blocks', () => {
  it('knows fences, headings, lists, quotes and paragraphs', () => {
    const blocks = blocksOf(
      '# Done\nI did\nthis.\n\n- one\n  more\n- two\n\n1. first\n\n> said\n> so\n```ts\nlet a;\n\n# b\n```\nend',
    );
    expect(blocks).toEqual([
      { kind: 'heading', text: 'Done' },
      { kind: 'paragraph', text: 'I did\nthis.' },
      { kind: 'list', isOrdered: false, items: ['one more', 'two'] },
      { kind: 'list', isOrdered: true, items: ['first'] },
      { kind: 'quote', text: 'said\nso' },
      { kind: 'code', language: 'ts', text: 'let a;\n\n# b' },
      { kind: 'paragraph', text: 'end' },
    ]);
  });

  it('takes what follows an open fence for code, for it may still be written', () => {
    expect(blocksOf('```\nlet a')).toEqual([{ kind: 'code', language: '', text: 'let a' }]);
  });

  it.each(['', '\n\n', '   '])('makes nothing of nothing: %j', (text) => {
    expect(blocksOf(text)).toEqual([]);
  });
});

describe('a line, in spans', () => {
  it('knows code, strong, emphasis and links, and leaves the rest', () => {
    expect(spansOf('a `b*c*` **d** *e* snake_case_name 2*3*4')).toEqual([
      { kind: 'text', text: 'a ' },
      { kind: 'code', text: 'b*c*' },
      { kind: 'text', text: ' ' },
      { kind: 'strong', text: 'd' },
      { kind: 'text', text: ' ' },
      { kind: 'emphasis', text: 'e' },
      { kind: 'text', text: ' snake_case_name 2*3*4' },
    ]);
  });

  it('ends an address before the full stop of the sentence', () => {
    expect(spansOf('see https://example.org/a.b.')).toEqual([
      { kind: 'text', text: 'see ' },
      { kind: 'link', text: 'https://example.org/a.b', url: 'https://example.org/a.b' },
      { kind: 'text', text: '.' },
    ]);
  });

  it.each(['[x](javascript:alert(1))', '<script>alert(1)</script>', '[a](data:text/html,b)'])(
    'links to web addresses only: %s',
    (text) => {
      expect(spansOf(text).every(({ kind }) => kind === 'text')).toBe(true);
    },
  );
});
