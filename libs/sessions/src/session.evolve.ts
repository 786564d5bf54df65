import {
  clip,
  MESSAGES_QUEUED_MAX,
  deriveId,
  type SessionEvent,
  type SessionEvents,
} from '@hangar/contracts';
import { evolveCheckpoint } from './evolve/checkpoint.ts';
import { evolveEnd } from './evolve/end.ts';
import { evolveStart } from './evolve/start.ts';
import { withNotes, withTurn } from './evolve/parts.ts';
import { evolveTalk } from './evolve/talk.ts';
import { evolveTurn } from './evolve/turn.ts';
import {
  inFlightMessage,
  isAsk,
  type GivenAnswer,
  type QueuedMessage,
  type Session,
  type SessionState,
} from './session.ts';

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
    talk: null,
    talk_number: 0,
    talk_unsaved: false,
    queue: [],
    taken_back: [],
    delivered: [],
    turns: [],
    checkpoints: [],
    continuity: null,
    attention: [],
    permissions: { mode: 'all', rules: [] },
    hand_off: false,
    left: null,
    limited: null,
    given: [],
    closed: [],
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
    case 'SteerRequested':
      return offer(s, event.data.message_id, { turn: event.data.turn, wanted_back: false });
    case 'TakeBackRequested':
      return offer(s, event.data.message_id, { turn: event.data.turn, wanted_back: true });
    case 'MessageReturned':
      return offer(s, event.data.message_id, undefined);
    case 'HarnessChanged':
      return harnessChanged(s, event.data);
    case 'UsageLimitReached': {
      const { turn, until } = event.data;
      const note = `turn ${turn} stopped at the provider's usage limit; go on where it stopped`;
      return { ...s, limited: { turn, until }, notes: withNotes(s.notes, [note]) };
    }
    case 'UsageLimitEnded':
      return { ...s, limited: null };
    case 'PermissionsChanged':
      return { ...s, permissions: event.data };
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
        delivered: isSteered(s, event.data.message_id)
          ? [...s.delivered, event.data.message_id].slice(-TAKEN_BACK_MAX)
          : s.delivered,
        queue: s.queue.filter((m) => m.message_id !== event.data.message_id),
      };
    case 'AttentionRaised': {
      const { card_id, ...card } = event.data;
      return { ...s, attention: [...s.attention, { id: card_id, ...card }] };
    }
    case 'AttentionCleared':
      return cleared(s, event.data);
    case 'CardAnswered':
      return cardAnswered(s, event.data);
    case 'SandboxRequested':
    case 'StartPhaseChanged':
    case 'SandboxAttached':
    case 'RestoreRequested':
    case 'SessionStarted':
    case 'ResumeRequested':
    case 'SessionResumed':
    case 'SessionFailed':
      return evolveStart(s, event);
    case 'TalkRequested':
    case 'TalkEndRequested':
    case 'TalkEnded':
      return evolveTalk(s, event);
    case 'TurnRequested':
    case 'TurnStarted':
    case 'TurnCancelRequested':
    case 'DeferRequested':
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

function conversationOf(
  s: Session,
  d: SessionEvents['HarnessChanged'],
): Pick<Session, 'conversation' | 'harness_session'> {
  const { harness_session = null, conversation } = d;
  if (conversation !== undefined)
    return { harness_session, conversation: conversation as Session['conversation'] };
  return d.harness === s.harness ? s : { harness_session: null, conversation: 'none' };
}

function harnessChanged(s: Session, d: SessionEvents['HarnessChanged']): Session {
  const { conversation, harness_session } = conversationOf(s, d);
  const changed = { ...s, harness: d.harness, model: d.model ?? null, conversation };
  if (d.harness === s.harness) return { ...changed, harness_session };
  const left = {
    harness: s.harness,
    harness_session: s.harness_session,
    conversation: s.conversation,
  };
  return {
    ...changed,
    harness_session,
    // A change of mind in between leaves what the first change left.
    left: s.left?.harness === d.harness ? null : (s.left ?? left),
    hand_off: harness_session === null && (s.hand_off || s.harness_session !== null),
  };
}

const isSteered = (s: Session, message_id: string): boolean =>
  s.queue.some((m) => m.message_id === message_id && m.offered !== undefined);

function offer(s: Session, message_id: string, offered: QueuedMessage['offered']): Session {
  return {
    ...s,
    queue: s.queue.map((m) => {
      if (m.message_id !== message_id) return m;
      const { offered: _before, ...message } = m;
      return offered ? { ...message, offered } : message;
    }),
  };
}

/** Cards that are remembered when they are closed; enough for all that one turn asks in parallel. */
const CLOSED_MAX = 128;
/** Of what was answered, for one who comes late. */
const REASON_CHARACTERS_MAX = 500;

function cleared(s: Session, d: SessionEvents['AttentionCleared']): Session {
  const card = s.attention.find((c) => c.id === d.card_id);
  const next = { ...s, attention: s.attention.filter((c) => c.id !== d.card_id) };
  if (!card || !isAsk(card)) return next;
  const reason = clip(d.reason, REASON_CHARACTERS_MAX);
  next.closed = [...s.closed, { card_id: card.id, reason }].slice(-CLOSED_MAX);
  const { cleared_at } = d;
  return cleared_at === undefined
    ? next
    : withTurn(next, card.turn, (t) => ({ ...t, counts_from: cleared_at }));
}

function cardAnswered(s: Session, d: SessionEvents['CardAnswered']): Session {
  const card = s.attention.find((c) => c.id === d.card_id);
  if (!card?.asked) throw new Error('an answer without its card: the log is broken');
  const { phase } = s;
  // A run that was told to defer takes no answer any more: it ends on what it asked.
  const reachesIt =
    phase.state === 'ACTIVE' &&
    phase.turn === d.turn &&
    phase.step !== 'deferring' &&
    phase.step !== 'ended';
  if (reachesIt) return s;
  const given: GivenAnswer = {
    card_id: d.card_id,
    message_id: deriveId('msg', s.id, 'answer', d.card_id),
    ask: card.asked,
    answer: d.answer,
  };
  return { ...s, given: [...s.given, given] };
}

const GOES_FIRST: ReadonlySet<string> = new Set(['retry', 'interrupt', 'answer']);

/**
 * First in, first out [M1]; a retry, an answer or an interrupting message goes before the others,
 * not before one in flight. Answers keep their order, and only a retry goes before them.
 */
function enqueue(s: Session, message: QueuedMessage): QueuedMessage[] {
  if (!GOES_FIRST.has(message.mode)) return [...s.queue, message];
  const inFlight = inFlightMessage(s);
  const isAhead = (m: QueuedMessage): boolean =>
    m.message_id === inFlight || (m.mode === 'answer' && message.mode !== 'retry');
  return [...s.queue.filter(isAhead), message, ...s.queue.filter((m) => !isAhead(m))];
}
