import { describe } from '@jest/globals';
import { playAll } from './case.ts';
import { configCases, ignoredCases } from './settings.ts';

describe('config', () => {
  playAll('config', configCases);
});
describe('ignored', () => {
  playAll('ignored', ignoredCases);
});
