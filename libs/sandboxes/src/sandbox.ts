import type { SandboxEvent, SandboxEvents, SandboxPlace } from '@hangar/contracts';

export type SandboxRequest = SandboxEvents['SandboxProvisionRequested'];

/** One disposable computer, from the request to its end. */
export interface Sandbox {
  request: SandboxRequest;
  status: 'provisioning' | 'ready' | 'failed' | 'lost' | 'destroying' | 'destroyed';
  step: string;
  text: string;
  place: SandboxPlace | null;
  expires_at: string | null;
  /** `SandboxExpiring` was said and nobody has answered yet. */
  expiring: boolean;
}

export type SandboxState = Sandbox | null;

export const initialState: SandboxState = null;

export function evolve(state: SandboxState, event: SandboxEvent): SandboxState {
  if (event.type === 'SandboxProvisionRequested')
    return {
      request: event.data,
      status: 'provisioning',
      step: 'requested',
      text: 'waiting for a sandbox',
      place: null,
      expires_at: null,
      expiring: false,
    };
  if (!state) throw new Error(`${event.type} before SandboxProvisionRequested: the log is broken`);
  switch (event.type) {
    case 'SandboxProgressed':
      return { ...state, step: event.data.phase, text: event.data.text };
    case 'SandboxReady':
      return {
        ...state,
        status: 'ready',
        place: event.data.place,
        expires_at: event.data.expires_at,
      };
    case 'SandboxFailed':
      return { ...state, status: 'failed' };
    case 'SandboxExpiring':
      return { ...state, expiring: true };
    case 'SandboxExtended':
      return { ...state, expires_at: event.data.expires_at, expiring: false };
    case 'SandboxDestroyRequested':
      return { ...state, status: 'destroying' };
    case 'SandboxDestroyed':
      return { ...state, status: 'destroyed' };
    case 'SandboxLost':
      return { ...state, status: 'lost' };
  }
}
