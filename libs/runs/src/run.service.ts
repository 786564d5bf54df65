import type { RunEvent } from '@hangar/contracts';
import { createAggregate, type AggregateHandler, type EventStore } from '@hangar/messaging';
import type pg from 'pg';
import { decide, type RunCommand } from './run.decider.ts';
import { evolve, initialState, type RunState } from './run.ts';

export type Runs = AggregateHandler<RunState, RunCommand>;

export const EXECUTE = 'run.execute';

export function createRuns(pool: pg.Pool, store: EventStore): Runs {
  return createAggregate<RunState, RunEvent, RunCommand>({
    aggregate: 'run',
    pool,
    store,
    foldVersion: 4,
    initial: initialState,
    evolve,
    decide,
    effects: (event) => {
      if (event.type !== 'RunRequested') return [];
      const { run_id, session_id } = event.data;
      const payload = { run_id, correlation: session_id };
      return [{ key: `run/${run_id}`, kind: EXECUTE, payload }];
    },
  });
}

/** Core NATS subject on which a run's worker hears that its log has something new for it. */
export const nudgeSubject = (runId: string): string => `hangar.nudge.${runId}`;
