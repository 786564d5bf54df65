import type { DescMessage } from '@bufbuild/protobuf';
import * as access from './gen/hangar/v1/access_pb.ts';
import * as checkpoint from './gen/hangar/v1/checkpoint_pb.ts';
import type * as common from './gen/hangar/v1/common_pb.ts';
import * as run from './gen/hangar/v1/run_pb.ts';
import * as sandbox from './gen/hangar/v1/sandbox_pb.ts';
import * as session from './gen/hangar/v1/session_pb.ts';
import * as terminal from './gen/hangar/v1/terminal_pb.ts';
import { HangarError } from './errors.ts';
import { validateWire, type Wire } from './wire.ts';

export type SandboxPlace = Wire<common.SandboxPlace>;
export type TokenUsage = Wire<common.TokenUsage>;
export type CheckpointPart = Wire<common.CheckpointPart>;
export type Omission = Wire<common.Omission>;
export type ContinuityPart = Wire<common.ContinuityPart>;
export type Continuity = Wire<common.Continuity>;
export type Ask = Wire<common.Ask>;
export type Answer = Wire<common.Answer>;
export type AnsweredAsk = Wire<common.AnsweredAsk>;
export type Permissions = Wire<common.Permissions>;
export type PermissionRule = Wire<common.PermissionRule>;

/** Each event's payload by its name; names are unique in the repository. */
export interface SessionEvents {
  SessionCreated: Wire<session.SessionCreated>;
  SessionRenamed: Wire<session.SessionRenamed>;
  IdleMinutesChanged: Wire<session.IdleMinutesChanged>;
  MessageQueued: Wire<session.MessageQueued>;
  MessageDelivered: Wire<session.MessageDelivered>;
  SteerRequested: Wire<session.SteerRequested>;
  MessageReturned: Wire<session.MessageReturned>;
  TakeBackRequested: Wire<session.TakeBackRequested>;
  MessageTakenBack: Wire<session.MessageTakenBack>;
  MessageFailed: Wire<session.MessageFailed>;
  SandboxRequested: Wire<session.SandboxRequested>;
  StartPhaseChanged: Wire<session.StartPhaseChanged>;
  SandboxAttached: Wire<session.SandboxAttached>;
  RestoreRequested: Wire<session.RestoreRequested>;
  SessionStarted: Wire<session.SessionStarted>;
  ResumeRequested: Wire<session.ResumeRequested>;
  SessionResumed: Wire<session.SessionResumed>;
  TurnRequested: Wire<session.TurnRequested>;
  TurnStarted: Wire<session.TurnStarted>;
  TurnCancelRequested: Wire<session.TurnCancelRequested>;
  DeferRequested: Wire<session.DeferRequested>;
  TurnFinished: Wire<session.TurnFinished>;
  CheckpointDue: Wire<session.CheckpointDue>;
  CheckpointRecorded: Wire<session.CheckpointRecorded>;
  CheckpointStillGood: Wire<session.CheckpointStillGood>;
  CheckpointMissed: Wire<session.CheckpointMissed>;
  CheckpointsDropped: Wire<session.CheckpointsDropped>;
  SessionIdled: Wire<session.SessionIdled>;
  SuspendRequested: Wire<session.SuspendRequested>;
  SuspendAborted: Wire<session.SuspendAborted>;
  SandboxReleaseRequested: Wire<session.SandboxReleaseRequested>;
  SandboxReleased: Wire<session.SandboxReleased>;
  SandboxKeepRequested: Wire<session.SandboxKeepRequested>;
  SessionSuspended: Wire<session.SessionSuspended>;
  SessionInterrupted: Wire<session.SessionInterrupted>;
  InterruptionResolved: Wire<session.InterruptionResolved>;
  SessionFailed: Wire<session.SessionFailed>;
  SessionArchived: Wire<session.SessionArchived>;
  SessionDeleted: Wire<session.SessionDeleted>;
  AttentionRaised: Wire<session.AttentionRaised>;
  AttentionCleared: Wire<session.AttentionCleared>;
  CardAnswered: Wire<session.CardAnswered>;
  HarnessChanged: Wire<session.HarnessChanged>;
  UsageLimitReached: Wire<session.UsageLimitReached>;
  UsageLimitEnded: Wire<session.UsageLimitEnded>;
  PermissionsChanged: Wire<session.PermissionsChanged>;
  TalkRequested: Wire<session.TalkRequested>;
  TalkEndRequested: Wire<session.TalkEndRequested>;
  TalkEnded: Wire<session.TalkEnded>;
}

export interface SandboxEvents {
  SandboxProvisionRequested: Wire<sandbox.SandboxProvisionRequested>;
  SandboxProgressed: Wire<sandbox.SandboxProgressed>;
  SandboxReady: Wire<sandbox.SandboxReady>;
  SandboxFailed: Wire<sandbox.SandboxFailed>;
  SandboxExpiring: Wire<sandbox.SandboxExpiring>;
  SandboxExtended: Wire<sandbox.SandboxExtended>;
  SandboxDestroyRequested: Wire<sandbox.SandboxDestroyRequested>;
  SandboxDestroyed: Wire<sandbox.SandboxDestroyed>;
  SandboxLost: Wire<sandbox.SandboxLost>;
}

export interface EnvironmentEvents {
  EnvironmentDefined: Wire<sandbox.EnvironmentDefined>;
  EnvironmentDeleted: Wire<sandbox.EnvironmentDeleted>;
}

export interface CheckpointEvents {
  CheckpointRequested: Wire<checkpoint.CheckpointRequested>;
  CheckpointTaken: Wire<checkpoint.CheckpointTaken>;
  CheckpointSkipped: Wire<checkpoint.CheckpointSkipped>;
  CheckpointFailed: Wire<checkpoint.CheckpointFailed>;
  CheckpointRestoreRequested: Wire<checkpoint.CheckpointRestoreRequested>;
  CheckpointRestored: Wire<checkpoint.CheckpointRestored>;
  CheckpointRestoreFailed: Wire<checkpoint.CheckpointRestoreFailed>;
  CheckpointDropped: Wire<checkpoint.CheckpointDropped>;
}

export interface RunEvents {
  RunRequested: Wire<run.RunRequested>;
  RunStarted: Wire<run.RunStarted>;
  RunMessageDelivered: Wire<run.RunMessageDelivered>;
  RunSteerRequested: Wire<run.RunSteerRequested>;
  RunWithdrawRequested: Wire<run.RunWithdrawRequested>;
  RunMessageReturned: Wire<run.RunMessageReturned>;
  RunAsked: Wire<run.RunAsked>;
  RunAskClosed: Wire<run.RunAskClosed>;
  RunAnswerGiven: Wire<run.RunAnswerGiven>;
  RunDeferRequested: Wire<run.RunDeferRequested>;
  RunToolDecided: Wire<run.RunToolDecided>;
  RunCancelRequested: Wire<run.RunCancelRequested>;
  RunFinished: Wire<run.RunFinished>;
  RunFailed: Wire<run.RunFailed>;
}

export interface TerminalEvents {
  TerminalRequested: Wire<terminal.TerminalRequested>;
  TerminalStarted: Wire<terminal.TerminalStarted>;
  TerminalEndRequested: Wire<terminal.TerminalEndRequested>;
  TerminalEnded: Wire<terminal.TerminalEnded>;
}

export interface AccessEvents {
  SecretSet: Wire<access.SecretSet>;
  SecretDeleted: Wire<access.SecretDeleted>;
  TokenCreated: Wire<access.TokenCreated>;
  TokenRevoked: Wire<access.TokenRevoked>;
  WebhookCreated: Wire<access.WebhookCreated>;
  WebhookDeleted: Wire<access.WebhookDeleted>;
}

export type EventMap = SessionEvents &
  SandboxEvents &
  EnvironmentEvents &
  CheckpointEvents &
  RunEvents &
  TerminalEvents &
  AccessEvents;
export type EventName = keyof EventMap;

/** A union discriminated by `type`, e.g. `EventOf<SessionEvents>`. */
export type EventOf<M> = { [K in keyof M]: { type: K; data: M[K] } }[keyof M];

export type SessionEvent = EventOf<SessionEvents>;
export type SandboxEvent = EventOf<SandboxEvents>;
export type EnvironmentEvent = EventOf<EnvironmentEvents>;
export type CheckpointEvent = EventOf<CheckpointEvents>;
export type RunEvent = EventOf<RunEvents>;
export type TerminalEvent = EventOf<TerminalEvents>;
export type AccessEvent = EventOf<AccessEvents>;
export type AnyEvent = EventOf<EventMap>;

/** Who owns which streams: a service's store refuses the others. */
export type Aggregate =
  | 'session'
  | 'sandbox'
  | 'environment'
  | 'checkpoint'
  | 'run'
  | 'terminal'
  | 'access';

const messagesOf = (file: object): [string, DescMessage][] =>
  Object.values(file)
    .filter((v): v is DescMessage => (v as { kind?: string } | null)?.kind === 'message')
    .map((d) => [d.name, d]);

/** Every event's descriptor by name: the contract that `append` holds events to. */
export const EVENT_SCHEMAS: ReadonlyMap<string, DescMessage> = new Map(
  [session, sandbox, checkpoint, run, terminal, access].flatMap(messagesOf),
);

/** Throws `internal` when an event is unknown or does not keep to its proto contract. */
export function validateEvent(type: string, data: unknown): void {
  const schema = EVENT_SCHEMAS.get(type);
  if (!schema) throw new HangarError('internal', `no contract for the event ${type}`);
  validateWire(schema, data);
}
