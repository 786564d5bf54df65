import { describe } from '@jest/globals';
import { playAll } from './case.ts';
import { concurrentCases, metaCases, sizeCases } from './files-meta.ts';

describe('fsmeta', () => {
  playAll('fsmeta', metaCases);
});
describe('size', () => {
  playAll('size', sizeCases);
});
describe('concurrent', () => {
  playAll('concurrent', concurrentCases);
});
