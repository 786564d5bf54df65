import { describe } from '@jest/globals';
import { playAll } from './case.ts';
import { emptyCases, nameCases, worktreeCases } from './worktree.ts';

describe('worktree', () => {
  playAll('worktree', worktreeCases);
});
describe('empty', () => {
  playAll('empty', emptyCases);
});
describe('names', () => {
  playAll('names', nameCases);
});
