import { MESSAGES_QUEUED_MAX, type SessionEvent, type SessionEvents } from '@hangar/contracts';
import { evolveCheckpoint } from './evolve/checkpoint.ts';
import { evolveEnd } from './evolve/end.ts';
import { evolveStart } from './evolve/start.ts';
import { evolveTurn } from './evolve/turn.ts';
import { inFlightMessage, type QueuedMessage, type Session, type SessionState } from './session.ts';

/** Messages taken back that are remembered, a few full queues of them. */
const TAKEN_BACK_MAX = 4 * MESSAGES_QUEUED_MAX;

/** Folds one event; knows every event of its stream, so that a new one does not compile without a line here. */
export function evolve(state: SessionState, event: SessionEvent): SessionState {
  if (event.type === 'SessionCreated') return created(event.data);
  if (state === null) throw new Error(`${event.type} before SessionCreated: the log is broken`);
  return evolveSession(state, event);
}

function created(d: SessionEvents['SessionCreated']): Session {
  return {
    id: d.session_id,
    name: d.name,
    title: d.title,
    owner: d.owner,
    environment: d.environment,
    harness: d.harness,
    model: d.model ?? null,
    repo: d.repo ?? null,
    base_branch: d.base_branch ?? null,
    branch: d.branch,
    cwd: d.cwd,
    idle_minutes: d.idle_minutes,
    turn_minutes: d.turn_minutes,
    checkpoints_kept_max: d.checkpoints_kept_max,
    created_at: d.created_at,
    harness_session: null,
    conversation: 'none',
    phase: { state: 'SUSPENDED' },
    state_reason: 'created',
    epoch: 0,
    checkpoint_number: 0,
    attached_epoch: 0,
    checkpoint_settled: 0,
    checkpointing: null,
    last_checkpoint_at: d.created_at,
    queue: [],
    taken_back: [],
    turns: [],
    checkpoints: [],
    continuity: null,
    attention: [],
    notes: [],
  };
}

type LaterEvent = Exclude<SessionEvent, { type: 'SessionCreated' }>;

function evolveSession(s: Session, event: LaterEvent): Session {
  switch (event.type) {
    case 'SessionRenamed':
      return { ...s, name: event.data.name, title: event.data.title };
    case 'IdleMinutesChanged':
      return { ...s, idle_minutes: event.data.idle_minutes };
    case 'MessageQueued':
      return { ...s, queue: enqueue(s, event.data) };
    case 'MessageTakenBack':
      return {
        ...s,
        queue: s.queue.filter((m) => m.message_id !== event.data.message_id),
        taken_back: [...s.taken_back, event.data.message_id].slice(-TAKEN_BACK_MAX),
      };
    case 'MessageDelivered':
    case 'MessageFailed':
      return {
        ...s,
        queue: s.queue.filter((m) => m.message_id !== event.data.message_id),
      };
    case 'AttentionRaised': {
      const { card_id, ...card } = event.data;
      return { ...s, attention: [...s.attention, { id: card_id, ...card }] };
    }
    case 'AttentionCleared':
      return { ...s, attention: s.attention.filter((c) => c.id !== event.data.card_id) };
    case 'SandboxRequested':
    case 'StartPhaseChanged':
    case 'SandboxAttached':
    case 'RestoreRequested':
    case 'SessionStarted':
    case 'ResumeRequested':
    case 'SessionResumed':
    case 'SessionFailed':
      return evolveStart(s, event);
    case 'TurnRequested':
    case 'TurnStarted':
    case 'TurnCancelRequested':
    case 'TurnFinished':
    case 'SessionInterrupted':
    case 'InterruptionResolved':
    case 'SessionIdled':
      return evolveTurn(s, event);
    case 'CheckpointDue':
    case 'CheckpointRecorded':
    case 'CheckpointStillGood':
    case 'CheckpointMissed':
    case 'CheckpointsDropped':
      return evolveCheckpoint(s, event);
    case 'SuspendRequested':
    case 'SuspendAborted':
    case 'SandboxReleaseRequested':
    case 'SandboxKeepRequested':
    case 'SandboxReleased':
    case 'SessionSuspended':
    case 'SessionArchived':
    case 'SessionDeleted':
      return evolveEnd(s, event);
  }
}

/** First in, first out [M1]; a retry or an interrupting message goes before the others, not before one in flight. */
function enqueue(s: Session, message: QueuedMessage): QueuedMessage[] {
  if (message.mode !== 'retry' && message.mode !== 'interrupt') return [...s.queue, message];
  const inFlight = inFlightMessage(s);
  const ahead = s.queue.filter((m) => m.message_id === inFlight);
  return [...ahead, message, ...s.queue.filter((m) => m.message_id !== inFlight)];
}
