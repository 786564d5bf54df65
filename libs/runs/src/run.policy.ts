import type { AnyEvent } from '@hangar/contracts';
import type { RunCommand } from './run.decider.ts';

export interface PolicyStep {
  run_id: string;
  command: RunCommand;
}

/** All that runs know of sessions: a turn is wanted, or no longer wanted. */
export function runPolicy(event: AnyEvent, now: string): PolicyStep[] {
  switch (event.type) {
    case 'TurnRequested': {
      const { requested_at: _at, ...data } = event.data;
      return [{ run_id: data.run_id, command: { type: 'StartRun', now, data } }];
    }
    case 'TurnCancelRequested': {
      const { run_id, reason } = event.data;
      return [{ run_id, command: { type: 'CancelRun', now, data: { reason } } }];
    }
    default:
      return [];
  }
}
