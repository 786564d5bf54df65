import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findGitDirectory, readRepository } from './repository.ts';
import { makeShadow, type Shadow } from './shadow.ts';
import { listTree, listTreeLike, pathsUnlike } from './tree-list.ts';

describe('a tree read as the difference to another', () => {
  let root = '';
  let shadow: Shadow;
  const git = (args: string[], input = ''): string =>
    execFileSync('git', ['-C', join(root, 'work'), ...args], { input, encoding: 'utf8' }).trim();
  const blob = (text: string): string => git(['hash-object', '-w', '--stdin'], text);
  const tree = (lines: string[]): string => git(['mktree', '--missing'], `${lines.join('\n')}\n`);
  const commit = 'a'.repeat(40);

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'hangar-tree-list-'));
    execFileSync('git', ['init', '-q', join(root, 'work')]);
    const work = join(root, 'work');
    const found = findGitDirectory(work);
    if (found.state !== 'found') throw new Error('no repository');
    shadow = makeShadow(join(root, 'shadow'), readRepository(work, found), { home: root });
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it('is what reading it whole gives: files, links, modes, gitlinks, both ways', async () => {
    const [one, two] = [blob('one'), blob('two')];
    const inner = tree([`100644 blob ${one}\tx`, `100644 blob ${two}\ty`]);
    const before = tree([
      `100644 blob ${one}\ta`,
      `100644 blob ${one}\tb`,
      `040000 tree ${inner}\td`,
      `160000 commit ${commit}\tsub`,
    ]);
    const after = tree([
      `100755 blob ${one}\ta`,
      `040000 tree ${inner}\tb`,
      `120000 blob ${two}\td`,
      `160000 commit ${'b'.repeat(40)}\tsub`,
      `100644 blob ${two}\tz`,
    ]);
    for (const [known, other] of [
      [before, after],
      [after, before],
      [before, before],
    ] as const) {
      const list = { tree: known, files: await listTree(shadow, known) };
      expect(await listTreeLike(shadow, list, other)).toEqual(await listTree(shadow, other));
    }
  });

  it('names every path that only the other has, directories included', async () => {
    const one = blob('one');
    const inner = tree([`100644 blob ${one}\tx`]);
    const known = tree([`100644 blob ${one}\ta`]);
    const other = tree([`100644 blob ${one}\ta`, `040000 tree ${inner}\tnew`]);
    expect(await pathsUnlike(shadow, known, other)).toEqual(['new', 'new/x']);
    const list = { tree: known, files: await listTree(shadow, known) };
    const [whole, unlike]: [string[], string[]] = [[], []];
    await listTree(shadow, other, (path) => whole.push(path));
    await listTreeLike(shadow, list, other, (path) => unlike.push(path));
    expect([whole, unlike]).toEqual([['new'], ['new']]);
  });
});
