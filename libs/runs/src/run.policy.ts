import type { AnyEvent } from '@hangar/contracts';
import type { RunCommand } from './run.decider.ts';

export interface PolicyStep {
  run_id: string;
  command: RunCommand;
}

/** All that runs know of sessions: a turn is wanted, spoken to, or no longer wanted. */
export function runPolicy(event: AnyEvent, now: string): PolicyStep[] {
  switch (event.type) {
    case 'TurnRequested': {
      const { requested_at: _at, ...data } = event.data;
      return [{ run_id: data.run_id, command: { type: 'StartRun', now, data } }];
    }
    case 'SteerRequested': {
      const { run_id, message_id, text } = event.data;
      return [{ run_id, command: { type: 'SteerRun', now, data: { message_id, text } } }];
    }
    case 'TakeBackRequested': {
      const { run_id, message_id } = event.data;
      return [{ run_id, command: { type: 'WithdrawMessage', now, data: { message_id } } }];
    }
    case 'CardAnswered': {
      const { run_id, ask_id, answer } = event.data;
      return [{ run_id, command: { type: 'GiveAnswer', now, data: { ask_id, answer } } }];
    }
    case 'DeferRequested': {
      const { run_id, reason } = event.data;
      return [{ run_id, command: { type: 'DeferRun', now, data: { reason } } }];
    }
    case 'TurnCancelRequested': {
      const { run_id, reason } = event.data;
      return [{ run_id, command: { type: 'CancelRun', now, data: { reason } } }];
    }
    default:
      return [];
  }
}
