import { describe } from '@jest/globals';
import { playAll } from './case.ts';
import { moreRefCases, progressCases, refCases } from './refs.ts';

describe('refs', () => {
  playAll('refs', refCases);
});
describe('progress', () => {
  playAll('progress', progressCases);
});
describe('refs and progress, beyond the list', () => {
  playAll('refs and progress, beyond the list', moreRefCases);
});
