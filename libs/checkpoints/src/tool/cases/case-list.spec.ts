import { describe, expect, it } from '@jest/globals';
import { archiveCases, moreArchiveCases } from './archive.ts';
import { beyondCases } from './beyond.ts';
import { contentCases, diffconfigCases } from './content.ts';
import { concurrentCases, metaCases, sizeCases } from './files-meta.ts';
import { hostileCases } from './hostile.ts';
import { moreNestedCases, nestedCases } from './nested.ts';
import { indexCases, plainCases } from './plain.ts';
import { moreRefCases, progressCases, refCases } from './refs.ts';
import { repoCases } from './repo.ts';
import { configCases, ignoredCases } from './settings.ts';
import { emptyCases, nameCases, worktreeCases } from './worktree.ts';

/** How many states of each group the list has; `hostile_index_objects` plays with two checkpoints. */
const GROUPS: [string, readonly { name: string }[], number][] = [
  ['plain', plainCases, 6],
  ['index', indexCases, 17],
  ['worktree', worktreeCases, 10],
  ['empty', emptyCases, 1],
  ['names', nameCases, 5],
  ['content', contentCases, 8],
  ['diffconfig', diffconfigCases, 36],
  ['nested', nestedCases, 11],
  ['repo', repoCases, 24],
  ['refs', refCases, 7],
  ['progress', progressCases, 12],
  ['config', configCases, 12],
  ['ignored', ignoredCases, 2],
  ['fsmeta', metaCases, 6],
  ['size', sizeCases, 3],
  ['concurrent', concurrentCases, 2],
  ['hostile', [...hostileCases, { name: 'hostile_index_objects' }], 12],
  ['archive', archiveCases, 13],
];

describe('the list of states', () => {
  it('has a case for each of the 187, once', () => {
    for (const [group, cases, count] of GROUPS)
      expect([group, cases.length]).toEqual([group, count]);
    const names = GROUPS.flatMap(([, cases]) => cases.map((one) => one.name));
    expect(new Set(names).size).toBe(187);
    const more = [moreNestedCases, moreRefCases, moreArchiveCases, beyondCases].flat();
    process.stdout.write(`187 of 187 listed states have a case, ${more.length} more beyond\n`);
  });
});
