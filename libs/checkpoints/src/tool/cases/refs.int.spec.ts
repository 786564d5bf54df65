import { describe } from '@jest/globals';
import { playAll } from './case.ts';
import { moreRefCases, progressCases, refCases } from './refs.ts';

describe('refs', () => playAll(refCases));
describe('progress', () => playAll(progressCases));
describe('refs and progress, beyond the list', () => playAll(moreRefCases));
