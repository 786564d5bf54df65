import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { IndexTable } from './index-table.ts';
import { findGitDirectory, readRepository } from './repository.ts';
import { makeShadow, type Shadow } from './shadow.ts';
import { cachedRootId, writeChangedTree, type TreeChange } from './tree-writer.ts';

/** Names whose order differs as files and as directories. */
const PATHS = [
  'a',
  'a-b',
  'a.c',
  'd/e',
  'd/f/g',
  'd/f/h',
  'd-x',
  'd.y/z',
  'd0',
  'q/r/s/t',
  'q/r/u',
  '\u00fc',
];
const ID = 'b'.repeat(40);

describe('the tree of an index with changes', () => {
  let root = '';
  let work = '';
  let shadow: Shadow;
  const git = (args: string[], input = ''): string =>
    execFileSync('git', ['-C', work, ...args], { input, encoding: 'latin1' }).trim();
  const table = (): IndexTable => new IndexTable(readFileSync(join(work, '.git/index')), 'sha1');
  const line = (path: string, change: TreeChange | null): Buffer =>
    Buffer.from(
      change ? `${change.mode.toString(8)} ${change.id} 0\t${path}\0` : `0 ${ID}\t${path}\0`,
      'latin1',
    );
  const feed = (lines: Buffer[]): void =>
    void execFileSync('git', ['-C', work, 'update-index', '-z', '--index-info'], {
      input: Buffer.concat(lines),
    });

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'hangar-tree-writer-'));
    work = join(root, 'work');
    execFileSync('git', ['init', '-q', work]);
    const found = findGitDirectory(work);
    if (found.state !== 'found') throw new Error('no repository');
    shadow = makeShadow(join(root, 'shadow'), readRepository(work, found), { home: root });
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it('is what git makes of it, and takes what is unchanged from the index', () => {
    const change = fc.option(
      fc.record({
        mode: fc.constantFrom(0o100644, 0o100755, 0o120000, 0o160000),
        id: fc.constantFrom('1'.repeat(40), '2'.repeat(40)),
      }),
      { nil: null },
    );
    const changes = fc.dictionary(fc.constantFrom(...PATHS), change);
    fc.assert(
      fc.property(fc.subarray(PATHS, { minLength: 1 }), changes, (paths, wanted) => {
        git(['read-tree', '--empty']);
        feed(paths.map((path) => line(path, { mode: 0o100644, id: ID })));
        const before = git(['write-tree', '--missing-ok']);
        const index = table();
        expect(cachedRootId(index)).toBe(before);
        const known = new Map(Object.entries(wanted).filter(([path]) => paths.includes(path)));
        const written = writeChangedTree(shadow, index, known);
        feed([...known].map(([path, one]) => line(path, one)));
        expect(written).toBe(git(['write-tree', '--missing-ok']));
      }),
      { numRuns: 30 },
    );
  });

  it('is left to git where the index has no trees, or not of everything', () => {
    git(['read-tree', '--empty']);
    feed(['a', 'd/e', 'q/r/u'].map((path) => line(path, { mode: 0o100644, id: ID })));
    const changes = new Map([['d/e', null]]);
    expect(cachedRootId(table())).toBeNull();
    expect(writeChangedTree(shadow, table(), changes)).toBeNull();
    git(['write-tree', '--missing-ok']);
    feed([line('q/r/u', { mode: 0o100755, id: ID })]);
    expect(cachedRootId(table())).toBeNull();
    expect(writeChangedTree(shadow, table(), changes)).toBeNull();
  });
});
