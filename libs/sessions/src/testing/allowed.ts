import type { StoryName } from './stories.ts';

/** `-`: quiet. `!code`: refused, with a message for a person. Else the events, in order. */
type Outcome = string;

interface Row {
  /** Everywhere but in the states named below. */
  otherwise: Outcome;
  but: [Outcome, ...StoryName[]][];
}

const row = (otherwise: Outcome, ...but: [Outcome, ...StoryName[]][]): Row => ({ otherwise, but });

/** Lost, or destroyed in spite of us. */
const SANDBOX_GONE = row(
  '-',
  ['SandboxReleaseRequested SessionFailed', 'STARTING', 'RESUMING', 'RESUMING, restoring'],
  [
    'CheckpointMissed SandboxReleased SandboxReleaseRequested AttentionRaised SessionSuspended',
    'IDLE, a checkpoint is being taken',
    'ACTIVE, ended',
    'SUSPENDING, saving',
  ],
  ['SandboxReleased', 'FAILED', 'ARCHIVED', 'DELETED'],
  [
    'SandboxReleased SandboxReleaseRequested AttentionRaised SessionSuspended',
    'IDLE',
    'IDLE, saved',
  ],
  [
    'TurnFinished CheckpointMissed SandboxReleased SandboxReleaseRequested SessionInterrupted AttentionRaised',
    'ACTIVE, running',
    'ACTIVE, cancelling',
  ],
  [
    'MessageReturned TurnFinished CheckpointMissed SandboxReleased SandboxReleaseRequested SessionInterrupted AttentionRaised',
    'ACTIVE, steered',
  ],
  [
    'AttentionCleared TurnFinished CheckpointMissed SandboxReleased SandboxReleaseRequested SessionInterrupted AttentionRaised',
    'ACTIVE, asked',
    'ACTIVE, deferring',
  ],
  [
    'MessageFailed TurnFinished CheckpointMissed SandboxReleased SandboxReleaseRequested SessionInterrupted AttentionRaised',
    'ACTIVE, requested',
  ],
  [
    'TalkEnded SandboxReleased SandboxReleaseRequested AttentionRaised SessionSuspended',
    'IDLE, talking',
  ],
  ['SandboxReleased SessionSuspended', 'SUSPENDING, releasing'],
  ['AttentionRaised SandboxReleased SandboxReleaseRequested SessionInterrupted', 'INTERRUPTED'],
);

/** What each command gives in each state: the rules of a session on one page (SPEC 3 to 8). */
const RULES: Record<string, Row> = {
  CreateSession: row('-', ['SessionCreated SandboxRequested', 'not created']),
  OpenSession: row(
    '-',
    [
      '!conflict',
      'SUSPENDING, saving',
      'SUSPENDING, releasing',
      'INTERRUPTED',
      'INTERRUPTED, sandbox gone',
      'ARCHIVED',
    ],
    ['!not_found', 'not created', 'DELETED'],
    ['ResumeRequested SandboxRequested', 'SUSPENDED', 'SUSPENDED, asked', 'FAILED'],
  ),
  SendMessage: row(
    'MessageQueued',
    ['!not_found', 'not created', 'DELETED'],
    ['MessageQueued TurnRequested', 'IDLE', 'IDLE, saved'],
    ['MessageQueued ResumeRequested SandboxRequested', 'SUSPENDED', 'SUSPENDED, asked', 'FAILED'],
    ['!conflict', 'ARCHIVED'],
  ),
  'SendMessage again': row(
    '-',
    ['!not_found', 'not created', 'DELETED'],
    ['MessageQueued', 'STARTING', 'IDLE, a checkpoint is being taken'],
    ['MessageQueued TurnRequested', 'IDLE'],
    ['MessageQueued ResumeRequested SandboxRequested', 'FAILED'],
    ['!conflict', 'ARCHIVED'],
  ),
  'SendMessage to interrupt': row(
    'MessageQueued',
    ['!not_found', 'not created', 'DELETED'],
    ['MessageQueued TurnRequested', 'IDLE', 'IDLE, saved'],
    [
      'MessageQueued TurnCancelRequested',
      'ACTIVE, requested',
      'ACTIVE, running',
      'ACTIVE, steered',
    ],
    ['MessageQueued TurnCancelRequested AttentionCleared', 'ACTIVE, asked', 'ACTIVE, deferring'],
    ['MessageQueued ResumeRequested SandboxRequested', 'SUSPENDED', 'SUSPENDED, asked', 'FAILED'],
    ['!conflict', 'ARCHIVED'],
    ['MessageQueued TalkEndRequested', 'IDLE, talking'],
  ),
  'SendMessage to steer': row(
    'MessageQueued',
    ['!not_found', 'not created', 'DELETED'],
    ['MessageQueued TurnRequested', 'IDLE', 'IDLE, saved'],
    [
      'MessageQueued SteerRequested',
      'ACTIVE, requested',
      'ACTIVE, running',
      'ACTIVE, steered',
      'ACTIVE, asked',
    ],
    ['MessageQueued ResumeRequested SandboxRequested', 'SUSPENDED', 'SUSPENDED, asked', 'FAILED'],
    ['!conflict', 'ARCHIVED'],
  ),
  'TakeBackMessage of the turn': row('!conflict', [
    '!not_found',
    'not created',
    'STARTING',
    'IDLE',
    'IDLE, a checkpoint is being taken',
    'FAILED',
    'DELETED',
  ]),
  'TakeBackMessage unknown': row('!not_found', ['!conflict', 'ARCHIVED']),
  'TakeBackMessage offered': row(
    '!not_found',
    ['TakeBackRequested', 'ACTIVE, steered'],
    ['!conflict', 'ARCHIVED'],
  ),
  AnswerCard: row(
    '!not_found',
    ['CardAnswered AttentionCleared', 'ACTIVE, asked', 'ACTIVE, deferring'],
    [
      'CardAnswered AttentionCleared MessageQueued ResumeRequested SandboxRequested',
      'SUSPENDED, asked',
    ],
    ['!conflict', 'ARCHIVED'],
  ),
  ChangePermissions: row(
    'PermissionsChanged',
    ['!not_found', 'not created', 'DELETED'],
    ['!conflict', 'ARCHIVED'],
  ),
  SuspendSession: row(
    '!conflict',
    [
      '-',
      'ACTIVE, deferring',
      'SUSPENDING, saving',
      'SUSPENDING, releasing',
      'SUSPENDED',
      'SUSPENDED, asked',
      'INTERRUPTED, sandbox gone',
      'FAILED',
    ],
    ['SuspendRequested CheckpointDue', 'IDLE', 'IDLE, saved', 'INTERRUPTED'],
    ['!not_found', 'not created', 'DELETED'],
    ['SuspendRequested', 'IDLE, a checkpoint is being taken'],
    ['DeferRequested', 'ACTIVE, asked'],
  ),
  'SuspendSession by force': row(
    '!conflict',
    [
      '-',
      'ACTIVE, deferring',
      'SUSPENDING, releasing',
      'SUSPENDED',
      'SUSPENDED, asked',
      'INTERRUPTED, sandbox gone',
      'FAILED',
    ],
    ['DeferRequested', 'ACTIVE, asked'],
    ['SuspendRequested CheckpointDue', 'IDLE', 'IDLE, saved', 'INTERRUPTED'],
    ['!not_found', 'not created', 'DELETED'],
    ['SuspendRequested', 'IDLE, a checkpoint is being taken', 'SUSPENDING, saving'],
  ),
  ArchiveSession: row(
    '!conflict',
    ['SandboxReleaseRequested SessionArchived', 'STARTING', 'IDLE', 'FAILED'],
    [
      'SandboxReleaseRequested CheckpointsDropped SessionArchived',
      'IDLE, saved',
      'RESUMING',
      'RESUMING, restoring',
    ],
    ['!not_found', 'not created', 'DELETED'],
    [
      'CheckpointMissed SandboxReleaseRequested CheckpointsDropped SessionArchived',
      'IDLE, a checkpoint is being taken',
    ],
    ['CheckpointsDropped SessionArchived', 'SUSPENDED'],
    ['AttentionCleared CheckpointsDropped SessionArchived', 'SUSPENDED, asked'],
    ['AttentionCleared SandboxReleaseRequested CheckpointsDropped SessionArchived', 'INTERRUPTED'],
    ['AttentionCleared SessionArchived', 'INTERRUPTED, sandbox gone'],
    ['-', 'ARCHIVED'],
  ),
  DeleteSession: row(
    '!conflict',
    ['SandboxReleaseRequested SessionDeleted', 'STARTING', 'IDLE', 'FAILED', 'ARCHIVED'],
    [
      'SandboxReleaseRequested CheckpointsDropped SessionDeleted',
      'IDLE, saved',
      'RESUMING',
      'RESUMING, restoring',
    ],
    ['!not_found', 'not created'],
    [
      'CheckpointMissed SandboxReleaseRequested CheckpointsDropped SessionDeleted',
      'IDLE, a checkpoint is being taken',
    ],
    ['CheckpointsDropped SessionDeleted', 'SUSPENDED'],
    ['AttentionCleared CheckpointsDropped SessionDeleted', 'SUSPENDED, asked'],
    ['AttentionCleared SandboxReleaseRequested CheckpointsDropped SessionDeleted', 'INTERRUPTED'],
    ['AttentionCleared SessionDeleted', 'INTERRUPTED, sandbox gone'],
    ['-', 'DELETED'],
  ),
  'DeleteSession by force': row(
    'SandboxReleaseRequested SessionDeleted',
    [
      'SandboxReleaseRequested CheckpointsDropped SessionDeleted',
      'IDLE, saved',
      'SUSPENDING, releasing',
      'RESUMING',
      'RESUMING, restoring',
    ],
    ['!not_found', 'not created'],
    [
      'TurnCancelRequested MessageFailed TurnFinished CheckpointMissed SandboxReleaseRequested SessionDeleted',
      'ACTIVE, requested',
      'ACTIVE, steered',
    ],
    [
      'TurnCancelRequested TurnFinished CheckpointMissed SandboxReleaseRequested SessionDeleted',
      'ACTIVE, running',
    ],
    [
      'TurnCancelRequested AttentionCleared TurnFinished CheckpointMissed SandboxReleaseRequested SessionDeleted',
      'ACTIVE, asked',
      'ACTIVE, deferring',
    ],
    ['TurnFinished CheckpointMissed SandboxReleaseRequested SessionDeleted', 'ACTIVE, cancelling'],
    [
      'CheckpointMissed SandboxReleaseRequested CheckpointsDropped SessionDeleted',
      'IDLE, a checkpoint is being taken',
      'ACTIVE, ended',
      'SUSPENDING, saving',
    ],
    ['CheckpointsDropped SessionDeleted', 'SUSPENDED'],
    ['AttentionCleared CheckpointsDropped SessionDeleted', 'SUSPENDED, asked'],
    ['AttentionCleared SandboxReleaseRequested CheckpointsDropped SessionDeleted', 'INTERRUPTED'],
    ['AttentionCleared SessionDeleted', 'INTERRUPTED, sandbox gone'],
    ['-', 'DELETED'],
    [
      'TalkEndRequested TalkEnded SandboxReleaseRequested CheckpointsDropped SessionDeleted',
      'IDLE, talking',
    ],
  ),
  KeepSession: row(
    'IdleMinutesChanged',
    ['!not_found', 'not created', 'DELETED'],
    ['!conflict', 'ARCHIVED'],
  ),
  'KeepSession the same': row(
    '-',
    ['!not_found', 'not created', 'DELETED'],
    ['!conflict', 'ARCHIVED'],
  ),
  InterruptTurn: row(
    '!conflict',
    ['!not_found', 'not created', 'DELETED'],
    ['TurnCancelRequested', 'ACTIVE, requested', 'ACTIVE, running', 'ACTIVE, steered'],
    ['TurnCancelRequested AttentionCleared', 'ACTIVE, asked', 'ACTIVE, deferring'],
    ['-', 'ACTIVE, cancelling', 'ACTIVE, ended'],
    ['TalkEndRequested', 'IDLE, talking'],
  ),
  RetryTurn: row(
    '!conflict',
    ['!not_found', 'not created', 'DELETED'],
    ['InterruptionResolved MessageQueued AttentionCleared TurnRequested', 'INTERRUPTED'],
    [
      'InterruptionResolved MessageQueued AttentionCleared ResumeRequested SandboxRequested',
      'INTERRUPTED, sandbox gone',
    ],
  ),
  ContinueSession: row(
    '!conflict',
    ['!not_found', 'not created', 'DELETED'],
    ['InterruptionResolved AttentionCleared SessionIdled', 'INTERRUPTED'],
    [
      'InterruptionResolved AttentionCleared ResumeRequested SandboxRequested',
      'INTERRUPTED, sandbox gone',
    ],
  ),
  StartTalk: row(
    '!conflict',
    ['!not_found', 'not created', 'DELETED'],
    ['TalkRequested', 'IDLE, saved'],
    ['-', 'IDLE, talking'],
  ),
  'StartTalk, another': row(
    '!conflict',
    ['!not_found', 'not created', 'DELETED'],
    ['TalkRequested', 'IDLE, saved'],
  ),
  EndTalk: row('-', ['!not_found', 'not created'], ['TalkEndRequested', 'IDLE, talking']),
  FinishTalk: row('-', ['TalkEnded CheckpointDue', 'IDLE, talking']),
  RenameSession: row('SessionRenamed', ['!not_found', 'not created', 'DELETED']),
  TakeCheckpoint: row(
    '!conflict',
    [
      'CheckpointDue',
      'IDLE',
      'IDLE, saved',
      'ACTIVE, requested',
      'ACTIVE, running',
      'ACTIVE, steered',
      'ACTIVE, asked',
      'ACTIVE, deferring',
      'ACTIVE, cancelling',
      'INTERRUPTED',
    ],
    ['-', 'IDLE, a checkpoint is being taken', 'ACTIVE, ended', 'SUSPENDING, saving'],
    ['!not_found', 'not created', 'DELETED'],
    ['CheckpointDue', 'IDLE, talking'],
  ),
  NoteStartPhase: row('-', ['StartPhaseChanged', 'STARTING', 'RESUMING']),
  AttachSandbox: row(
    '-',
    ['SandboxAttached SessionStarted', 'STARTING'],
    ['SandboxAttached RestoreRequested', 'RESUMING'],
  ),
  FailStart: row('-', [
    'SandboxReleaseRequested SessionFailed',
    'STARTING',
    'RESUMING',
    'RESUMING, restoring',
  ]),
  LoseSandbox: SANDBOX_GONE,
  FinishRelease: SANDBOX_GONE,
  KeepOrSuspend: row(
    'SandboxKeepRequested',
    [
      'SandboxReleaseRequested',
      'SUSPENDED',
      'SUSPENDED, asked',
      'INTERRUPTED, sandbox gone',
      'FAILED',
      'ARCHIVED',
      'DELETED',
    ],
    ['SuspendRequested CheckpointDue', 'IDLE', 'IDLE, saved', 'INTERRUPTED'],
    ['-', 'not created'],
  ),
  FinishRestore: row('-', ['SessionResumed', 'RESUMING, restoring']),
  TryOlderCheckpoint: row('-', ['RestoreRequested', 'RESUMING, restoring']),
  NoteTurnStarted: row('-', ['TurnStarted', 'ACTIVE, requested']),
  NoteDelivery: row('-', ['MessageDelivered', 'ACTIVE, requested']),
  'NoteDelivery of an offered one': row('-', ['MessageDelivered', 'ACTIVE, steered']),
  ReturnMessage: row('-', ['MessageReturned', 'ACTIVE, steered']),
  RaiseAsk: row('-', [
    'AttentionRaised',
    'ACTIVE, requested',
    'ACTIVE, running',
    'ACTIVE, steered',
  ]),
  CloseAsk: row('-', ['AttentionCleared', 'ACTIVE, asked']),
  FinishTurn: row(
    '-',
    ['TurnFinished CheckpointDue', 'ACTIVE, running', 'ACTIVE, cancelling'],
    ['MessageDelivered TurnFinished CheckpointDue', 'ACTIVE, requested'],
    ['MessageReturned TurnFinished CheckpointDue', 'ACTIVE, steered'],
    ['AttentionCleared TurnFinished CheckpointDue', 'ACTIVE, asked', 'ACTIVE, deferring'],
  ),
  'FinishTurn, deferred': row(
    '-',
    [
      'TurnFinished CheckpointDue',
      'ACTIVE, running',
      'ACTIVE, asked',
      'ACTIVE, deferring',
      'ACTIVE, cancelling',
    ],
    ['MessageDelivered TurnFinished CheckpointDue', 'ACTIVE, requested'],
    ['MessageReturned TurnFinished CheckpointDue', 'ACTIVE, steered'],
  ),
  LoseTurn: row(
    '-',
    ['TurnCancelRequested MessageFailed TurnFinished CheckpointDue', 'ACTIVE, requested'],
    ['TurnCancelRequested TurnFinished CheckpointDue', 'ACTIVE, running'],
    ['TurnCancelRequested MessageReturned TurnFinished CheckpointDue', 'ACTIVE, steered'],
    [
      'TurnCancelRequested AttentionCleared TurnFinished CheckpointDue',
      'ACTIVE, asked',
      'ACTIVE, deferring',
    ],
    ['TurnFinished CheckpointDue', 'ACTIVE, cancelling'],
  ),
  'LoseTurn, silent': row(
    '-',
    [
      'TurnCancelRequested MessageFailed TurnFinished CheckpointDue',
      'ACTIVE, requested',
      'ACTIVE, steered',
    ],
    ['TurnCancelRequested TurnFinished CheckpointDue', 'ACTIVE, running'],
    [
      'TurnCancelRequested AttentionCleared TurnFinished CheckpointDue',
      'ACTIVE, asked',
      'ACTIVE, deferring',
    ],
    ['TurnFinished CheckpointDue', 'ACTIVE, cancelling'],
  ),
  'LoseTurn, sandbox gone': row(
    '-',
    [
      'TurnFinished CheckpointMissed SandboxReleased SandboxReleaseRequested SessionInterrupted AttentionRaised',
      'ACTIVE, running',
      'ACTIVE, cancelling',
    ],
    [
      'MessageReturned TurnFinished CheckpointMissed SandboxReleased SandboxReleaseRequested SessionInterrupted AttentionRaised',
      'ACTIVE, steered',
    ],
    [
      'AttentionCleared TurnFinished CheckpointMissed SandboxReleased SandboxReleaseRequested SessionInterrupted AttentionRaised',
      'ACTIVE, asked',
      'ACTIVE, deferring',
    ],
    [
      'MessageFailed TurnFinished CheckpointMissed SandboxReleased SandboxReleaseRequested SessionInterrupted AttentionRaised',
      'ACTIVE, requested',
    ],
  ),
  RecordCheckpoint: row(
    'CheckpointsDropped',
    [
      '-',
      'not created',
      'IDLE, saved',
      'IDLE, talking',
      'SUSPENDING, releasing',
      'SUSPENDED',
      'SUSPENDED, asked',
      'RESUMING',
      'RESUMING, restoring',
      'INTERRUPTED',
    ],
    ['CheckpointRecorded', 'IDLE, a checkpoint is being taken', 'INTERRUPTED, sandbox gone'],
    ['CheckpointRecorded SessionIdled', 'ACTIVE, ended'],
    ['CheckpointRecorded CheckpointDue', 'SUSPENDING, saving'],
  ),
  NoteUnchanged: row(
    '-',
    ['CheckpointStillGood', 'IDLE, a checkpoint is being taken'],
    ['CheckpointStillGood SessionIdled', 'ACTIVE, ended'],
    ['CheckpointStillGood CheckpointDue', 'SUSPENDING, saving'],
  ),
  MissCheckpoint: row(
    '-',
    ['CheckpointMissed AttentionRaised', 'IDLE, a checkpoint is being taken'],
    ['CheckpointMissed AttentionRaised SessionIdled', 'ACTIVE, ended'],
    [
      'CheckpointMissed AttentionRaised SuspendAborted SandboxKeepRequested AttentionCleared AttentionRaised SessionIdled',
      'SUSPENDING, saving',
    ],
  ),
  SuspendIfIdle: row(
    '-',
    ['SuspendRequested CheckpointDue', 'IDLE', 'IDLE, saved', 'INTERRUPTED'],
    ['DeferRequested', 'ACTIVE, asked'],
  ),
  CheckpointIfDue: row('-', [
    'CheckpointDue',
    'IDLE',
    'IDLE, saved',
    'IDLE, talking',
    'ACTIVE, running',
    'ACTIVE, steered',
    'ACTIVE, asked',
  ]),
  FailIfLate: row('-', [
    'SandboxReleaseRequested SessionFailed',
    'STARTING',
    'RESUMING',
    'RESUMING, restoring',
  ]),
  ChangeHarness: row(
    '!conflict',
    ['!not_found', 'not created', 'DELETED'],
    ['SuspendRequested CheckpointDue HarnessChanged', 'IDLE', 'IDLE, saved'],
    ['SuspendRequested HarnessChanged', 'IDLE, a checkpoint is being taken'],
    ['HarnessChanged', 'SUSPENDED', 'SUSPENDED, asked', 'FAILED'],
  ),
  'ChangeHarness, the model alone': row(
    'HarnessChanged',
    ['!not_found', 'not created', 'DELETED'],
    ['!conflict', 'ARCHIVED'],
  ),
  EndUsageLimit: row('-'),
  SuspendIfReleaseLate: row('-', ['SessionSuspended', 'SUSPENDING, releasing']),
};

export const COMMAND_NAMES = Object.keys(RULES);

export function allowed(about: string, name: StoryName): Outcome {
  const rule = RULES[about];
  if (!rule) throw new Error(`no rule for ${about}`);
  const found = rule.but.find(([, ...names]) => names.includes(name));
  return found?.[0] ?? rule.otherwise;
}
