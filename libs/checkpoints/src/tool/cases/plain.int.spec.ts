import { describe } from '@jest/globals';
import { playAll } from './case.ts';
import { indexCases, plainCases } from './plain.ts';

describe('plain', () => {
  playAll('plain', plainCases);
});
describe('index', () => {
  playAll('index', indexCases);
});
