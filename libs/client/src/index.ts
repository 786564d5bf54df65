export { createHangarClient, type HangarClient } from './client.ts';
export { statusOf } from './http/answer-error.ts';
export type { TransportSettings } from './http/transport.ts';
export { newIdempotencyKey } from './calls/call-options.ts';
export type { CallOptions, CreateOptions, WaitOptions } from './calls/call-options.ts';
export type { SessionCalls, SessionFilter } from './calls/session-calls.ts';
export type { ActivityCalls, DecisionCalls } from './calls/activity-calls.ts';
export type { CheckpointCalls, SandboxCalls } from './calls/sandbox-calls.ts';
export type { TerminalCalls } from './calls/terminal-calls.ts';
export type { EnvironmentCalls, HarnessCalls, LimitCalls } from './calls/environment-calls.ts';
export type { SecretCalls, TokenCalls } from './calls/access-calls.ts';
export type { WebhookCalls } from './calls/webhook-calls.ts';
export type { AuditCalls, AuditFilter } from './calls/audit-calls.ts';
export type { ActivityMoment, FollowOptions } from './live/activity-follow.ts';
export type {
  AttachedTerminal,
  AttachOptions,
  TerminalEnd,
  TerminalState,
} from './live/attach-terminal.ts';
export type { EventCalls, EventOptions } from './live/event-calls.ts';
export type { McpCalls } from './calls/mcp-calls.ts';
export { API_VERSION } from './calls/server-calls.ts';
export type { ReadyPart, Readiness, ServerCalls, ServerReport } from './calls/server-calls.ts';
