import { describe } from '@jest/globals';
import { playAll } from './case.ts';
import { beyondCases } from './beyond.ts';

describe('beyond the list', () => {
  playAll('beyond the list', beyondCases);
});
