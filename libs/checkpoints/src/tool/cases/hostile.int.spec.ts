import { describe } from '@jest/globals';
import { playAll } from './case.ts';
import { hostileCases } from './hostile.ts';

describe('hostile', () => {
  playAll('hostile', hostileCases);
});
