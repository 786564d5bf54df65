import { describe } from '@jest/globals';
import { playAll } from './case.ts';
import { repoCases } from './repo.ts';

describe('repo', () => {
  playAll('repo', repoCases);
});
