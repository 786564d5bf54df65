import type { StoryName } from './stories.ts';

/** `-`: quiet. `!code`: refused, with a message for a person. Else the events, in order. */
export type Outcome = string;

export interface Row {
  /** Everywhere but in the states named below. */
  otherwise: Outcome;
  but: [Outcome, ...StoryName[]][];
}

export const row = (otherwise: Outcome, ...but: [Outcome, ...StoryName[]][]): Row => ({
  otherwise,
  but,
});

/** Lost, or destroyed in spite of us. */
export const SANDBOX_GONE = row(
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
