import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { paxRecord, tarOf, type TarItem } from '../tool/cases/tar-builder.ts';
import { checkTarPart, rulesOf } from './part-rules.ts';
import { checkTar, type TarRules } from './tar-check.ts';
import type { TarEntry } from './tar-headers.ts';

const RULES: TarRules = { unpackedBytesMax: 1024 * 1024 };

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const check = (items: readonly TarItem[], rules: TarRules = RULES) =>
  checkTar(inPieces(tarOf(items), 700), rules);

const pax = (...records: [string, string][]): TarItem => ({
  name: 'pax',
  type: 'x',
  content: Buffer.from(records.map(([key, value]) => paxRecord(key, value)).join(''), 'latin1'),
});

describe('a tar part', () => {
  it('is accepted with files, directories, links and inner hard links', async () => {
    const seen: TarEntry[] = [];
    const bytes = tarOf([
      { name: './dir/', type: '5' },
      { name: 'dir/file', content: 'hello' },
      { name: 'dir/twin', type: '1', link: 'dir/file' },
      { name: 'away', type: '2', link: '/etc/passwd' },
      { name: 'file', prefix: 'long/prefix', content: 'x' },
    ]);
    for (const size of [1, 511, 512, 4096]) {
      seen.length = 0;
      const summary = await checkTar(inPieces(bytes, size), RULES, (entry) => seen.push(entry));
      expect(summary).toEqual({ entries: 5, unpackedBytes: 6 });
      expect(seen.map((entry) => `${entry.kind} ${entry.path}`)).toEqual([
        'directory dir',
        'file dir/file',
        'hard_link dir/twin',
        'link away',
        'file long/prefix/file',
      ]);
    }
  });

  it('is read through gzip and zstd alike, by its first bytes', async () => {
    const plain = tarOf([{ name: 'file', content: 'x' }]);
    for (const stored of [plain, gzipSync(plain), zstdCompressSync(plain)]) {
      expect(await checkTarPart(inPieces(stored, 3), RULES)).toMatchObject({ entries: 1 });
    }
  });

  const refused: [string, TarItem[], RegExp][] = [
    ['an absolute name', [{ name: '/etc/passwd' }], /absolute/],
    ['a name that climbs', [{ name: 'a/../../b' }], /"\.\."/],
    ['an empty name', [{ name: '' }], /empty/],
    ['a git directory', [{ name: 'sub/.git/config' }], /\.git/],
    ['a name behind a link', [{ name: 'l', type: '2', link: '/' }, { name: 'l/x' }], /through/],
    ['a file over a link', [{ name: 'l', type: '2', link: '/' }, { name: 'l' }], /over a link/],
    [
      'a hard link to a link',
      [
        { name: 'l', type: '2', link: 'x' },
        { name: 'h', type: '1', link: 'l' },
      ],
      /hard link/,
    ],
    ['a hard link outside', [{ name: 'h', type: '1', link: '../x' }], /"\.\."/],
    ['a character device', [{ name: 'd', type: '3' }], /type "3"/],
    ['a block device', [{ name: 'd', type: '4' }], /type "4"/],
    ['a pipe', [{ name: 'p', type: '6' }], /type "6"/],
    ['a global header', [{ name: 'g', type: 'g', content: 'x' }], /type "g"/],
    ['an old sparse file', [{ name: 's', type: 'S' }], /type "S"/],
    ['a pax name that climbs', [pax(['path', '../x']), { name: 'fine' }], /"\.\."/],
    [
      'a pax link behind',
      [pax(['linkpath', '/etc']), { name: 'h', type: '1', link: 'x' }],
      /absolute/,
    ],
    [
      'a long name that is absolute',
      [{ name: 'L', type: 'L', content: '/abs\0' }, { name: 'x' }],
      /absolute/,
    ],
    [
      'a sparse name that climbs',
      [pax(['GNU.sparse.major', '1'], ['GNU.sparse.name', '../x']), { name: 'x' }],
      /"\.\."/,
    ],
    ['an older sparse form', [pax(['GNU.sparse.map', '0,1']), { name: 'x' }], /newest form/],
    ['a pax size that lies', [pax(['size', '99999999999999999999']), { name: 'x' }], /impossible/],
    ['a directory with content', [{ name: 'd', type: '5', content: 'x' }], /content/],
    ['a huge extended header', [{ name: 'x', type: 'x', size: 2 ** 21 }], /too large/],
    ['more than the cap', [{ name: 'big', size: 2 * 1024 * 1024 }], /cap/],
    [
      'a sparse file of an absurd length',
      [pax(['GNU.sparse.major', '1'], ['GNU.sparse.realsize', '99999999999']), { name: 'x' }],
      /cap/,
    ],
  ];
  it.each(refused)('is refused with %s', async (_, items, message) => {
    const refusal = check(items);
    await expect(refusal).rejects.toMatchObject({ code: 'refused' });
    await expect(refusal).rejects.toThrow(message);
  });

  it('is refused with more entries than the cap', async () => {
    const items = Array.from({ length: 4 }, (_, number) => ({ name: `${number}` }));
    await expect(check(items, { ...RULES, entriesMax: 3 })).rejects.toThrow(/entries/);
  });

  it('is refused when it goes on after its end', async () => {
    const two = Buffer.concat([tarOf([{ name: 'a' }]), tarOf([{ name: '../b' }])]);
    await expect(checkTar(inPieces(two, 512), RULES)).rejects.toMatchObject({ code: 'refused' });
  });

  it('is corrupt when it is cut, damaged or without an end', async () => {
    const whole = tarOf([{ name: 'a', content: 'x'.repeat(2000) }]);
    for (const bytes of [
      whole.subarray(0, 1000),
      tarOf([{ name: 'a' }], { withoutEnd: true }),
      tarOf([{ name: 'a', damage: true }]),
      Buffer.alloc(0),
    ]) {
      await expect(checkTar(inPieces(bytes, 512), RULES)).rejects.toMatchObject({
        code: 'corrupt',
      });
    }
    const cut = gzipSync(whole).subarray(0, 30);
    await expect(checkTarPart(inPieces(cut, 8), RULES)).rejects.toMatchObject({ code: 'corrupt' });
  });
});

describe('the rules of the parts', () => {
  const options = { conversationDirectories: ['.claude/projects'], unpackedBytesMax: 1024 };

  it('keep agent.tgz to the conversation directories', async () => {
    const rules = rulesOf('agent.tgz', options);
    await check([{ name: '.claude/projects/x' }], rules);
    for (const name of ['.claude/settings.json', '.claude/projects-evil/x', '.bashrc']) {
      await expect(check([{ name }], rules)).rejects.toThrow(/outside the allowed/);
    }
  });

  it('let only nested have git directories, and of the own one only modules and worktrees', async () => {
    const rules = rulesOf('nested', options);
    await check(
      [
        { name: '.git', type: '5' },
        { name: 'sub/.git/config' },
        { name: '.git/modules/sub/HEAD' },
        { name: '.git/worktrees/x/HEAD' },
      ],
      rules,
    );
    for (const item of [
      { name: '.git/config' },
      { name: '.git/hooks/x' },
      { name: '.git' },
      { name: '.git', type: '2', link: 'x' },
    ]) {
      await expect(check([item], rules)).rejects.toMatchObject({ code: 'refused' });
    }
  });
});
