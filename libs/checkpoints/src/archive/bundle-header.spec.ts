import { describe, expect, it } from '@jest/globals';
import { parseBundleHeader, readBundleHeader } from './bundle-header.ts';
import { isRefName } from './ref-names.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(64);

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text, 'latin1');
}

describe('the header of a bundle', () => {
  it('names prerequisites and refs', () => {
    const text = `# v2 git bundle\n-${A} some subject\n${A} refs/hangar/worktree`;
    expect(parseBundleHeader(text)).toEqual({
      version: 2,
      objectFormat: 'sha1',
      prerequisites: [A],
      refs: [{ id: A, name: 'refs/hangar/worktree' }],
    });
  });

  it('may be version 3 with SHA-256', () => {
    const text = `# v3 git bundle\n@object-format=sha256\n${B} refs/hangar/index0`;
    expect(parseBundleHeader(text)).toMatchObject({ version: 3, objectFormat: 'sha256' });
  });

  const refused: [string, string][] = [
    ['another ref', `# v2 git bundle\n${A} refs/heads/main`],
    ['HEAD', `# v2 git bundle\n${A} HEAD`],
    ['a ref that climbs', `# v2 git bundle\n${A} refs/hangar/../heads/main`],
    ['a filter', `# v3 git bundle\n@filter=blob:none\n${A} refs/hangar/x`],
    ['no refs', `# v2 git bundle\n-${A} x`],
    ['an unknown line', `# v2 git bundle\nzzz\n${A} refs/hangar/x`],
  ];
  it.each(refused)('is refused with %s', (_, text) => {
    expect(() => parseBundleHeader(text)).toThrow(expect.objectContaining({ code: 'refused' }));
  });

  it('is corrupt without a signature or an end', async () => {
    expect(() => parseBundleHeader('PACK')).toThrow(expect.objectContaining({ code: 'corrupt' }));
    await expect(readBundleHeader(pieces('# v2 git', ' bundle\n'))).rejects.toMatchObject({
      code: 'corrupt',
    });
  });

  it('is read without the pack behind it', async () => {
    const head = await readBundleHeader(
      pieces('# v2 git bun', `dle\n${A} refs/hangar/x\n`, '\nPACK'),
    );
    expect(head.refs).toHaveLength(1);
  });
});

describe('names of refs', () => {
  it('follow git check-ref-format', () => {
    for (const name of [
      'refs/heads/main',
      'refs/heads/a/b-c',
      'refs/heads/ü',
      'refs/x/@',
      'refs/heads/-x',
    ]) {
      expect(isRefName(name)).toBe(true);
    }
    for (const name of [
      'HEAD',
      'refs/heads/',
      'refs//x',
      'refs/heads/a..b',
      'refs/heads/.a',
      'refs/heads/a.lock',
      'refs/heads/a.',
      'refs/heads/a b',
      'refs/heads/a\n',
      'refs/heads/a~1',
      'refs/heads/a^',
      'refs/heads/a:b',
      'refs/heads/a?',
      'refs/heads/a*',
      'refs/heads/a[',
      'refs/heads/a\\b',
      'refs/heads/a@{1}',
    ]) {
      expect(isRefName(name)).toBe(false);
    }
  });
});
