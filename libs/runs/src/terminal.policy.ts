import type { AnyEvent } from '@hangar/contracts';
import type { TerminalCommand } from './terminal.decider.ts';

export interface TerminalStep {
  terminal_id: string;
  command: TerminalCommand;
}

/** All that they know of sessions: a talk is wanted, or no longer wanted. */
export function terminalPolicy(event: AnyEvent, now: string): TerminalStep[] {
  switch (event.type) {
    case 'TalkRequested': {
      const { requested_at: _at, request_id: _request, ...data } = event.data;
      return [{ terminal_id: data.terminal_id, command: { type: 'StartTerminal', now, data } }];
    }
    case 'TalkEndRequested': {
      const { terminal_id, reason } = event.data;
      return [{ terminal_id, command: { type: 'EndTerminal', now, data: { reason } } }];
    }
    default:
      return [];
  }
}
