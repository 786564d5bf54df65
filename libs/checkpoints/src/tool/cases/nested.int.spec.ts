import { describe } from '@jest/globals';
import { playAll } from './case.ts';
import { moreNestedCases, nestedCases } from './nested.ts';

describe('nested', () => {
  playAll('nested', nestedCases);
});
describe('nested, beyond the list', () => {
  playAll('nested, beyond the list', moreNestedCases);
});
