import type { EventDocument, EventMap, EventName } from '@hangar/contracts';
import { bytesText } from '../output/quantities.ts';

export interface PhaseLine {
  /** A state of the session, or SAVED, WARNING, ATTENTION. */
  word: string;
  text: string;
}

type Describe<Name extends EventName> = (
  data: EventMap[Name],
  previousWord: string | null,
) => PhaseLine | null;

/** One line for each event that a waiting person wants to know of [S4]. */
const LINES: { [Name in EventName]?: Describe<Name> } = {
  SandboxRequested: ({ purpose, environment }) =>
    purpose === 'resume'
      ? { word: 'RESUMING', text: `making a sandbox of ${environment}` }
      : { word: 'STARTING', text: `making a sandbox of ${environment}` },
  // The phases of a start and of a resume are the same: the line before says which it is.
  StartPhaseChanged: ({ text, phase }, previousWord) => ({
    word: previousWord === 'RESUMING' ? 'RESUMING' : 'STARTING',
    text: text || phase,
  }),
  RestoreRequested: ({ checkpoint_id, attempt }) => ({
    word: 'RESUMING',
    text:
      attempt > 0
        ? `restoring an older checkpoint, ${checkpoint_id}`
        : `restoring checkpoint ${checkpoint_id}`,
  }),
  SessionStarted: () => ({ word: 'IDLE', text: 'the sandbox is ready' }),
  SessionResumed: ({ checkpoint_id, turns_older, continuity }) => ({
    word: 'IDLE',
    text: `resumed from ${checkpoint_id}${older(turns_older)}${lost(continuity)}`,
  }),
  MessageQueued: ({ message_id }) => ({ word: 'QUEUED', text: `message ${message_id} waits` }),
  MessageFailed: ({ reason }) => ({ word: 'WARNING', text: `the message failed: ${reason}` }),
  SteerRequested: ({ message_id, turn }) => ({
    word: 'QUEUED',
    text: `message ${message_id} is offered to turn ${turn}`,
  }),
  MessageReturned: ({ message_id }) => ({
    word: 'QUEUED',
    text: `message ${message_id} did not reach the turn: it waits for the next`,
  }),
  CardAnswered: ({ answered_by }) => ({ word: 'ANSWERED', text: `by ${answered_by}` }),
  DeferRequested: ({ turn }) => ({
    word: 'ACTIVE',
    text: `turn ${turn}: ending on its question, which stays open`,
  }),
  TurnRequested: ({ turn, harness }) => ({ word: 'ACTIVE', text: `turn ${turn}: ${harness}` }),
  TurnStarted: ({ turn }) => ({ word: 'ACTIVE', text: `turn ${turn}: the agent is at work` }),
  TurnCancelRequested: ({ turn, reason }) => ({
    word: 'ACTIVE',
    text: `turn ${turn}: stopping (${reason})`,
  }),
  TurnFinished: ({ turn, outcome }) => ({ word: 'ACTIVE', text: `turn ${turn} ${outcome}` }),
  CheckpointDue: ({ reason }) =>
    reason === 'interval' ? null : { word: 'SAVING', text: 'taking a checkpoint' },
  CheckpointRecorded: ({ checkpoint_id, bytes, complete, skipped }) => ({
    word: complete ? 'SAVED' : 'WARNING',
    text: complete
      ? `checkpoint ${checkpoint_id}, ${bytesText(bytes)}`
      : `checkpoint ${checkpoint_id} is incomplete: ${skipped.length} paths are not in it`,
  }),
  CheckpointStillGood: ({ checkpoint_id }) => ({
    word: 'SAVED',
    text: `nothing changed since checkpoint ${checkpoint_id}`,
  }),
  CheckpointMissed: ({ error }) => ({
    word: 'WARNING',
    text: `the checkpoint could not be taken: ${error}`,
  }),
  SessionIdled: ({ reason }) => ({ word: 'IDLE', text: reason || 'nothing to do' }),
  SuspendRequested: ({ reason }) => ({ word: 'SUSPENDING', text: reason }),
  SuspendAborted: ({ reason }) => ({ word: 'WARNING', text: reason }),
  SandboxReleaseRequested: () => ({ word: 'SUSPENDING', text: 'releasing the sandbox' }),
  SessionSuspended: ({ reason }) => ({ word: 'SUSPENDED', text: reason }),
  SessionInterrupted: ({ reason }) => ({ word: 'INTERRUPTED', text: reason }),
  SessionFailed: ({ reason }) => ({ word: 'FAILED', text: reason }),
  SessionArchived: () => ({ word: 'ARCHIVED', text: 'its checkpoints were dropped' }),
  AttentionRaised: ({ kind, text }) => ({ word: 'ATTENTION', text: `${kind}: ${text}` }),
};

export function phaseLine(
  event: EventDocument,
  previousWord: string | null = null,
): PhaseLine | null {
  if (!Object.hasOwn(LINES, event.type)) return null;
  const describe = LINES[event.type as EventName] as Describe<never> | undefined;
  return describe?.(event.data as never, previousWord) ?? null;
}

const older = (turns: number): string =>
  turns > 0 ? `, ${turns} ${turns === 1 ? 'turn' : 'turns'} older than the newest work` : '';

function lost(continuity: EventMap['SessionResumed']['continuity']): string {
  const parts = Object.entries(continuity).flatMap(([name, part]) =>
    'state' in part && part.state !== 'kept' ? [`${name} ${part.state}`] : [],
  );
  return parts.length > 0 ? `; ${parts.join(', ')}` : '';
}
