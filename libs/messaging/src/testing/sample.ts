import { randomUUID } from 'node:crypto';
import { HangarError } from '@hangar/contracts';
import type pg from 'pg';
import type { EventMeta, NewEvent } from '../event.ts';
import type { EventStore, Fold } from '../event-store.ts';
import { createPostgresEventStore } from '../postgres/event-store.ts';
import type { Wake } from '../wake.ts';

/** Meta of events that a test makes. */
export const sampleMeta = (): EventMeta => ({
  actor: 'owner:test',
  cause: null,
  correlation: randomUUID(),
});

export const sampleEvent = (n: number, id?: string): NewEvent => ({
  type: 'TurnFinished',
  data: { turn: n, summary: 'added "empty" \\ tests, two\nlines' },
  ...(id ? { id } : {}),
});

export const sampleStore = (pool: pg.Pool, wake?: Wake): EventStore =>
  createPostgresEventStore({
    pool,
    owns: ['session', 'run'],
    validate: sampleValidate,
    ...(wake ? { wake } : {}),
  });

export interface SampleState {
  turns: number;
  sum: number;
}

export const sampleFold: Fold<SampleState> = {
  version: 1,
  initial: { turns: 0, sum: 0 },
  evolve: (state, event) => ({
    turns: state.turns + 1,
    sum: state.sum + Number(event.data['turn'] ?? 0),
  }),
};

/** The contract of the sample events: only one type breaks it. */
export const sampleValidate = (type: string): void => {
  if (type === 'Broken') throw new HangarError('invalid', 'broken on purpose');
};
