import type { SandboxEvent, SandboxPlace } from '@hangar/contracts';
import type { SandboxRequest, SandboxState } from './sandbox.ts';

export interface SandboxCommands {
  ProvisionSandbox: SandboxRequest;
  NoteProgress: { phase: string; text: string };
  MarkReady: { place: SandboxPlace; expires_at: string; environment_version: number };
  MarkFailed: { phase: string; reason: string };
  MarkLost: { reason: string };
  /** `reason`: why before its time. */
  ExpireSandbox: { busy?: boolean; reason?: string };
  ExtendSandbox: { expires_at: string; reason: string };
  DestroySandbox: { cause: string; force: boolean };
  MarkDestroyed: { cause: string };
}

export type SandboxCommand = {
  [K in keyof SandboxCommands]: { type: K; data: SandboxCommands[K]; now: string };
}[keyof SandboxCommands];

/**
 * A sandbox refuses nothing: its commands come from policies and workers, and what no longer
 * applies is quiet. It never ends on its own initiative: it says that it expires, and waits [X3].
 */
export function decide(s: SandboxState, command: SandboxCommand): SandboxEvent[] {
  if (command.type === 'ProvisionSandbox')
    return s ? [] : [{ type: 'SandboxProvisionRequested', data: command.data }];
  if (!s) return [];
  const { sandbox_id, session_id, epoch } = s.request;
  const about = { sandbox_id, session_id, epoch };
  switch (command.type) {
    case 'NoteProgress':
      if (s.status !== 'provisioning') return [];
      if (s.step === command.data.phase && s.text === command.data.text) return [];
      return [{ type: 'SandboxProgressed', data: { ...about, ...command.data } }];
    case 'MarkReady':
      if (s.status !== 'provisioning') return [];
      return [{ type: 'SandboxReady', data: { ...about, ...command.data } }];
    case 'MarkFailed':
      if (s.status !== 'provisioning') return [];
      return [{ type: 'SandboxFailed', data: { ...about, ...command.data } }];
    case 'MarkLost':
      if (s.status !== 'ready') return [];
      return [{ type: 'SandboxLost', data: { ...about, ...command.data } }];
    case 'ExpireSandbox':
      if (s.status !== 'ready' || s.expiring || !s.expires_at) return [];
      if (s.expires_at > command.now && command.data.reason === undefined) return [];
      return [
        {
          type: 'SandboxExpiring',
          data: { ...about, expires_at: s.expires_at, busy: false, ...command.data },
        },
      ];
    case 'ExtendSandbox':
      if (s.status !== 'ready') return [];
      // The same wish again; only one that gives more time, or ends the wait for an answer, counts.
      if (!s.expiring && s.expires_at && command.data.expires_at <= s.expires_at) return [];
      return [{ type: 'SandboxExtended', data: { sandbox_id, ...command.data } }];
    case 'DestroySandbox':
      if (s.status === 'destroying' || s.status === 'destroyed') return [];
      return [{ type: 'SandboxDestroyRequested', data: { ...about, ...command.data } }];
    case 'MarkDestroyed':
      if (s.status !== 'destroying') return [];
      return [{ type: 'SandboxDestroyed', data: { ...about, ...command.data } }];
  }
}
