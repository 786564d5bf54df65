import type { CheckpointEvent } from '@hangar/contracts';
import { createAggregate, type AggregateHandler, type EventStore } from '@hangar/messaging';
import type pg from 'pg';
import { decide, type CheckpointCommand } from './checkpoint.decider.ts';
import { evolve, initialState, type CheckpointState } from './checkpoint.ts';

export type Checkpoints = AggregateHandler<CheckpointState, CheckpointCommand>;

export const TAKE = 'checkpoint.take';
export const RESTORE = 'checkpoint.restore';
export const DELETE = 'checkpoint.delete';

export function createCheckpoints(pool: pg.Pool, store: EventStore): Checkpoints {
  return createAggregate<CheckpointState, CheckpointEvent, CheckpointCommand>({
    aggregate: 'checkpoint',
    pool,
    store,
    foldVersion: 2,
    initial: initialState,
    evolve,
    decide,
    effects: (event) => {
      const { checkpoint_id, session_id } = event.data;
      const payload = { checkpoint_id, session_id, correlation: session_id };
      switch (event.type) {
        case 'CheckpointRequested':
          return [{ key: `take/${checkpoint_id}`, kind: TAKE, payload }];
        case 'CheckpointRestoreRequested': {
          const { epoch, place, harness } = event.data;
          return [
            {
              key: `restore/${checkpoint_id}/${epoch}`,
              kind: RESTORE,
              payload: { ...payload, epoch, place, harness },
            },
          ];
        }
        case 'CheckpointDropped':
          return [
            {
              key: `delete/${checkpoint_id}`,
              kind: DELETE,
              payload: { ...payload, reason: event.data.reason },
            },
          ];
        default:
          return [];
      }
    },
  });
}
