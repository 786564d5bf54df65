import { describe } from '@jest/globals';
import { playAll } from './case.ts';
import { concurrentCases, metaCases, sizeCases } from './files-meta.ts';

describe('fsmeta', () => playAll(metaCases));
describe('size', () => playAll(sizeCases));
describe('concurrent', () => playAll(concurrentCases));
