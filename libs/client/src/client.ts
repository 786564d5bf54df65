import {
  createActivityCalls,
  createDecisionCalls,
  type ActivityCalls,
  type DecisionCalls,
} from './calls/activity-calls.ts';
import { createAuditCalls, type AuditCalls } from './calls/audit-calls.ts';
import {
  createSecretCalls,
  createTokenCalls,
  type SecretCalls,
  type TokenCalls,
} from './calls/access-calls.ts';
import {
  createEnvironmentCalls,
  createHarnessCalls,
  createLimitCalls,
  type EnvironmentCalls,
  type HarnessCalls,
  type LimitCalls,
} from './calls/environment-calls.ts';
import {
  createCheckpointCalls,
  createSandboxCalls,
  type CheckpointCalls,
  type SandboxCalls,
} from './calls/sandbox-calls.ts';
import { createMcpCalls, type McpCalls } from './calls/mcp-calls.ts';
import { createServerCalls, type ServerCalls } from './calls/server-calls.ts';
import { createSessionCalls, type SessionCalls } from './calls/session-calls.ts';
import { createTerminalCalls, type TerminalCalls } from './calls/terminal-calls.ts';
import { createWebhookCalls, type WebhookCalls } from './calls/webhook-calls.ts';
import { createTransport, type TransportSettings } from './http/transport.ts';
import { createEventCalls, type EventCalls } from './live/event-calls.ts';

/**
 * Every route of a hangar server. A refusal is a HangarError with the server's own code, message
 * and hint; a server that cannot be reached is `unavailable`; an aborted call throws the reason of
 * its signal. Calls that may be repeated are tried again, within the bounds of bounds.ts.
 */
export interface HangarClient {
  readonly url: string;
  readonly sessions: SessionCalls;
  readonly activity: ActivityCalls;
  readonly decisions: DecisionCalls;
  readonly checkpoints: CheckpointCalls;
  readonly sandboxes: SandboxCalls;
  readonly terminals: TerminalCalls;
  readonly environments: EnvironmentCalls;
  readonly harnesses: HarnessCalls;
  readonly limits: LimitCalls;
  readonly secrets: SecretCalls;
  readonly tokens: TokenCalls;
  readonly webhooks: WebhookCalls;
  readonly audit: AuditCalls;
  readonly events: EventCalls;
  readonly mcp: McpCalls;
  readonly server: ServerCalls;
}

export function createHangarClient(settings: TransportSettings): HangarClient {
  const transport = createTransport(settings);
  return {
    url: settings.url,
    sessions: createSessionCalls(transport),
    activity: createActivityCalls(transport),
    decisions: createDecisionCalls(transport),
    checkpoints: createCheckpointCalls(transport),
    sandboxes: createSandboxCalls(transport),
    terminals: createTerminalCalls(transport, settings),
    environments: createEnvironmentCalls(transport),
    harnesses: createHarnessCalls(transport),
    limits: createLimitCalls(transport),
    secrets: createSecretCalls(transport),
    tokens: createTokenCalls(transport),
    webhooks: createWebhookCalls(transport),
    audit: createAuditCalls(transport),
    events: createEventCalls(transport),
    mcp: createMcpCalls(transport),
    server: createServerCalls(transport),
  };
}
