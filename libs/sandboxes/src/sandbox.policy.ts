import type { AnyEvent } from '@hangar/contracts';
import type { SandboxCommand } from './sandbox.decider.ts';

export interface PolicyStep {
  sandbox_id: string;
  command: SandboxCommand;
}

/** A lifetime is given anew when the session says that it still needs the sandbox [X5]. */
export interface SandboxPolicySettings {
  ttlMinutes: number;
}

/** All that sandboxes know of sessions: one is wanted, no longer wanted, or wanted for longer. */
export function sandboxPolicy(
  event: AnyEvent,
  now: string,
  settings: SandboxPolicySettings,
): PolicyStep[] {
  switch (event.type) {
    case 'SandboxRequested':
      return [
        {
          sandbox_id: event.data.sandbox_id,
          command: { type: 'ProvisionSandbox', now, data: event.data },
        },
      ];
    case 'SandboxReleaseRequested': {
      const { sandbox_id, cause, force } = event.data;
      return [{ sandbox_id, command: { type: 'DestroySandbox', now, data: { cause, force } } }];
    }
    case 'SandboxKeepRequested': {
      const { sandbox_id, reason } = event.data;
      const expires_at = new Date(Date.parse(now) + settings.ttlMinutes * 60_000).toISOString();
      return [
        { sandbox_id, command: { type: 'ExtendSandbox', now, data: { expires_at, reason } } },
      ];
    }
    default:
      return [];
  }
}
