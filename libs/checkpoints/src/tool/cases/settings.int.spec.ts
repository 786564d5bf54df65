import { describe } from '@jest/globals';
import { playAll } from './case.ts';
import { configCases, ignoredCases } from './settings.ts';

describe('config', () => playAll(configCases));
describe('ignored', () => playAll(ignoredCases));
