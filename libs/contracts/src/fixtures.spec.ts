import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { EVENT_SCHEMAS, validateEvent } from './index.ts';

const FIXTURES = new URL('../fixtures/', import.meta.url);
const FILE_NAME = /^([A-Z][A-Za-z]+)\.v([1-9][0-9]*)\.json$/;

const files = readdirSync(FIXTURES);
const read = (file: string): unknown => JSON.parse(readFileSync(new URL(file, FIXTURES), 'utf8'));
const typeOf = (file: string): string => FILE_NAME.exec(file)?.[1] ?? '';

/** Events as they stand in logs that exist: kept for ever, and readable for ever. */
describe('old events', () => {
  it('has a fixture of every event type, and none of an unknown one', () => {
    expect([...new Set(files.map(typeOf))].sort()).toEqual([...EVENT_SCHEMAS.keys()].sort());
  });

  it.each(files)('%s keeps to its contract', (file) => {
    expect(() => validateEvent(typeOf(file), read(file))).not.toThrow();
  });

  it.each(files)('%s with a field that the contract does not know is refused', (file) => {
    const event = { ...(read(file) as object), not_in_the_contract: 1 };
    expect(() => validateEvent(typeOf(file), event)).toThrow(/breaks its contract/);
  });
});

describe('a field that is left out', () => {
  const event = read('SessionIdled.v1.json') as Record<string, unknown>;

  it.each(Object.keys(event))('%s is missed: a default would be a guess', (name) => {
    const { [name]: _left, ...rest } = event;
    expect(() => validateEvent('SessionIdled', rest)).toThrow(/missing/);
  });

  it('is missed inside a list and inside a message too', () => {
    const recorded = read('CheckpointRecorded.v1.json') as { parts: object[] };
    const parts = [{ name: 'wip', size: 1 }];
    expect(() => validateEvent('CheckpointRecorded', { ...recorded, parts })).toThrow(/sha256/);
  });

  it('may be left out where the contract says optional', () => {
    const { checkpoint_id: _left, ...rest } = read('SessionSuspended.v1.json') as {
      checkpoint_id: string;
    };
    expect(() => validateEvent('SessionSuspended', rest)).not.toThrow();
  });
});

describe('an event of a type that no contract knows', () => {
  it('is refused', () => {
    expect(() => validateEvent('SessionExploded', {})).toThrow(/no contract/);
  });
});
