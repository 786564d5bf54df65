import { describe } from '@jest/globals';
import { playAll } from './case.ts';
import { contentCases, diffconfigCases } from './content.ts';

describe('content', () => {
  playAll('content', contentCases);
});
describe('diffconfig', () => {
  playAll('diffconfig', diffconfigCases);
});
