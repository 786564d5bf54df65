import type {
  Answer,
  Ask,
  Continuity,
  Permissions,
  SandboxPlace,
  SessionEvents,
  TokenUsage,
} from '@hangar/contracts';

/** What may be asked of a session: by people through the gateway, and by its policy. */
export interface SessionCommands {
  CreateSession: Omit<SessionEvents['SessionCreated'], 'created_at'> & {
    message?: { message_id: string; text: string };
    permissions?: Permissions;
  };
  OpenSession: object;
  /** `steers`: whether the session's harness takes messages while it works. */
  SendMessage: {
    message_id: string;
    text: string;
    mode: 'auto' | 'steer' | 'queue' | 'interrupt';
    steers: boolean;
  };
  AnswerCard: { card_id: string; answer: Answer; answered_by: string };
  ChangePermissions: Permissions;
  /** `model` null: the harness chooses. */
  ChangeHarness: { harness: string; model: string | null };
  TakeBackMessage: { message_id: string };
  SuspendSession: { force: boolean };
  ArchiveSession: object;
  DeleteSession: { force: boolean; deleted_by: string };
  KeepSession: { idle_minutes: number };
  InterruptTurn: object;
  RetryTurn: object;
  ContinueSession: object;
  /** `talks`: whether the session's harness can be talked with. */
  StartTalk: { request_id: string; cols: number; rows: number; talks: boolean };
  EndTalk: { terminal_id: string };
  RenameSession: { name: string; title: string };
  TakeCheckpoint: object;

  NoteStartPhase: { sandbox_id: string; phase: string; text: string };
  AttachSandbox: { sandbox_id: string; place: SandboxPlace };
  FailStart: { sandbox_id: string; phase: string; reason: string };
  LoseSandbox: { sandbox_id: string; reason: string };
  FinishRelease: { sandbox_id: string; cause: string };
  KeepOrSuspend: { sandbox_id: string; busy?: boolean; reason?: string };

  FinishRestore: { checkpoint_id: string; epoch: number; continuity: Continuity };
  TryOlderCheckpoint: { checkpoint_id: string; epoch: number; error: string };

  NoteTurnStarted: { run_id: string; turn: number };
  NoteDelivery: { run_id: string; turn: number; message_id: string };
  ReturnMessage: { run_id: string; turn: number; message_id: string };
  RaiseAsk: { run_id: string; turn: number; ask: Ask };
  CloseAsk: { run_id: string; turn: number; ask_id: string };
  FinishTurn: {
    run_id: string;
    turn: number;
    outcome: string;
    exit_code?: number;
    summary: string;
    usage: TokenUsage;
    error?: string;
    harness_session?: string;
    conversation: string;
    /** Of a provider's usage limit that ended the turn. */
    resets_at?: string;
  };
  /** `is_silent`: the run itself has not said so. */
  LoseTurn: {
    run_id: string;
    turn: number;
    reason: string;
    sandbox_gone: boolean;
    is_silent: boolean;
  };

  FinishTalk: { terminal_id: string; reason: string; exit_code?: number };

  RecordCheckpoint: Omit<SessionEvents['CheckpointRecorded'], 'bytes'> & { epoch: number };
  NoteUnchanged: { checkpoint_id: string; same_as: string; reason: string; turn: number };
  MissCheckpoint: { checkpoint_id: string; reason: string; error: string };

  /** The clock: judged against the state, so that a late or doubled tick is quiet. */
  SuspendIfIdle: { last_active_at: string | null; busy: boolean };
  CheckpointIfDue: { checkpoint_minutes: number };
  FailIfLate: { start_deadline_minutes: number };
  EndUsageLimit: object;
  SuspendIfReleaseLate: { release_deadline_minutes: number };
}

export type SessionCommandName = keyof SessionCommands;

/** What the gateway may ask; the other commands are the policy's and the ticker's alone. */
export const ASKED_BY_PEOPLE: readonly SessionCommandName[] = [
  'CreateSession',
  'OpenSession',
  'SendMessage',
  'TakeBackMessage',
  'AnswerCard',
  'ChangePermissions',
  'ChangeHarness',
  'SuspendSession',
  'ArchiveSession',
  'DeleteSession',
  'KeepSession',
  'InterruptTurn',
  'RetryTurn',
  'ContinueSession',
  'StartTalk',
  'EndTalk',
  'RenameSession',
  'TakeCheckpoint',
];

/** `now` is RFC 3339: deciders read no clock. */
export type SessionCommand = {
  [K in SessionCommandName]: { type: K; data: SessionCommands[K]; now: string };
}[SessionCommandName];

export type CommandOf<K extends SessionCommandName> = {
  type: K;
  data: SessionCommands[K];
  now: string;
};
