import type { TerminalEvent } from '@hangar/contracts';
import type { TerminalRequest, TerminalState } from './terminal.ts';

export interface TerminalCommands {
  StartTerminal: TerminalRequest;
  MarkTerminalStarted: object;
  EndTerminal: { reason: string };
  FinishTerminal: { reason: string; exit_code?: number };
}

export type TerminalCommand = {
  [K in keyof TerminalCommands]: { type: K; data: TerminalCommands[K]; now: string };
}[keyof TerminalCommands];

/** It starts once and ends once; anything after its end is quiet [M5]. */
export function decideTerminal(s: TerminalState, command: TerminalCommand): TerminalEvent[] {
  if (command.type === 'StartTerminal')
    return s ? [] : [{ type: 'TerminalRequested', data: command.data }];
  if (!s || s.status === 'ended') return [];
  const { terminal_id, session_id, epoch } = s.request;
  const { now } = command;
  switch (command.type) {
    case 'MarkTerminalStarted':
      if (s.status !== 'requested') return [];
      return [{ type: 'TerminalStarted', data: { terminal_id, session_id, started_at: now } }];
    case 'EndTerminal':
      if (s.ending !== null) return [];
      return [{ type: 'TerminalEndRequested', data: { terminal_id, ...command.data } }];
    case 'FinishTerminal': {
      const data = { terminal_id, session_id, epoch, ...command.data, ended_at: now };
      return [{ type: 'TerminalEnded', data }];
    }
  }
}
