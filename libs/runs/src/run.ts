import type { RunEvent, RunEvents } from '@hangar/contracts';

export type RunRequest = RunEvents['RunRequested'];

/** One process execution of a harness for a turn. */
export interface Run {
  request: RunRequest;
  status: 'requested' | 'started' | 'ended';
  delivered: boolean;
  /** Why it shall stop, once somebody said so. */
  cancelling: string | null;
  /** From here the turn's time limit counts, also over a restart of the service. */
  started_at: string | null;
}

export type RunState = Run | null;

export const initialState: RunState = null;

export function evolve(state: RunState, event: RunEvent): RunState {
  if (event.type === 'RunRequested')
    return {
      request: event.data,
      status: 'requested',
      delivered: false,
      cancelling: null,
      started_at: null,
    };
  if (!state) throw new Error(`${event.type} before RunRequested: the log is broken`);
  switch (event.type) {
    case 'RunStarted':
      return { ...state, status: 'started', started_at: event.data.started_at };
    case 'RunMessageDelivered':
      return { ...state, delivered: true };
    case 'RunCancelRequested':
      return { ...state, cancelling: event.data.reason };
    case 'RunFinished':
    case 'RunFailed':
      return { ...state, status: 'ended' };
  }
}
