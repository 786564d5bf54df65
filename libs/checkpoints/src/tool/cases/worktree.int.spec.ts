import { describe } from '@jest/globals';
import { playAll } from './case.ts';
import { emptyCases, nameCases, worktreeCases } from './worktree.ts';

describe('worktree', () => playAll(worktreeCases));
describe('empty', () => playAll(emptyCases));
describe('names', () => playAll(nameCases));
