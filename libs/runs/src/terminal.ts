import type { TerminalEvent, TerminalEvents } from '@hangar/contracts';

export type TerminalRequest = TerminalEvents['TerminalRequested'];

/** One process execution of a harness that a person talks with. */
export interface AgentTerminal {
  request: TerminalRequest;
  status: 'requested' | 'started' | 'ended';
  /** Why it shall end, once somebody said so. */
  ending: string | null;
}

export type TerminalState = AgentTerminal | null;

export const initialTerminal: TerminalState = null;

export function evolveTerminal(state: TerminalState, event: TerminalEvent): TerminalState {
  if (event.type === 'TerminalRequested')
    return { request: event.data, status: 'requested', ending: null };
  if (!state) throw new Error(`${event.type} before TerminalRequested: the log is broken`);
  switch (event.type) {
    case 'TerminalStarted':
      return { ...state, status: 'started' };
    case 'TerminalEndRequested':
      return { ...state, ending: event.data.reason };
    case 'TerminalEnded':
      return { ...state, status: 'ended' };
  }
}
