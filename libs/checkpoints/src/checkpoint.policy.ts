import type { AnyEvent } from '@hangar/contracts';
import type { CheckpointCommand } from './checkpoint.decider.ts';

export interface PolicyStep {
  checkpoint_id: string;
  command: CheckpointCommand;
}

/** All that checkpoints know of sessions: one is due, one is wanted back, some are not wanted. */
export function checkpointPolicy(event: AnyEvent, now: string): PolicyStep[] {
  switch (event.type) {
    case 'CheckpointDue': {
      const { due_at: _due, ...data } = event.data;
      return [
        { checkpoint_id: data.checkpoint_id, command: { type: 'TakeCheckpoint', now, data } },
      ];
    }
    case 'RestoreRequested': {
      const { attempt: _attempt, ...data } = event.data;
      return [
        { checkpoint_id: data.checkpoint_id, command: { type: 'RestoreCheckpoint', now, data } },
      ];
    }
    case 'CheckpointsDropped': {
      const { session_id, reason } = event.data;
      return event.data.checkpoint_ids.map((checkpoint_id) => ({
        checkpoint_id,
        command: { type: 'DropCheckpoint', now, data: { checkpoint_id, session_id, reason } },
      }));
    }
    default:
      return [];
  }
}
