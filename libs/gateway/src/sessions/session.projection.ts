import type { SessionEvent, SessionEvents } from '@hangar/contracts';
import type { RecordedEvent } from '@hangar/messaging';
import type { ViewChange, ViewRow } from '../views/view-change.ts';
import { projectCheckpoint } from './checkpoint.projection.ts';
import { projectMessage } from './message.projection.ts';
import { projectTurn } from './turn.projection.ts';

/** What an event changes in the session's own row, and in the rows that belong to it. */
export interface SessionChange {
  session: ViewRow;
  others?: ViewChange[];
}

type Named<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

/** Shows that a person or the agent did something; the clock and checkpoints do not count. */
const ACTIVITY: ReadonlySet<string> = new Set([
  'MessageQueued',
  'MessageDelivered',
  'CardAnswered',
  'ResumeRequested',
  'SessionStarted',
  'SessionResumed',
  'TurnRequested',
  'TurnStarted',
  'TurnFinished',
  'TalkRequested',
  'TalkEnded',
]);

export function projectSession(event: RecordedEvent): ViewChange[] {
  const id = event.stream.slice('session/'.length);
  const named = event as unknown as SessionEvent;
  if (named.type === 'SessionCreated') return [created(named.data, event)];
  const change = changeOf(id, named, event);
  const session: ViewRow = {
    ...change.session,
    version: event.version,
    updated_at: event.at,
    ...(ACTIVITY.has(event.type) ? { last_active_at: event.at } : {}),
  };
  return [
    { op: 'set', table: 'session_view', where: { id }, row: session },
    ...(change.others ?? []),
  ];
}

function created(d: SessionEvents['SessionCreated'], event: RecordedEvent): ViewChange {
  return {
    op: 'add',
    table: 'session_view',
    row: {
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
      harness_session: null,
      conversation: 'none',
      sandbox_id: null,
      place: null,
      state: 'SUSPENDED',
      state_reason: 'created',
      start_phase: null,
      checkpointing: null,
      continuity: null,
      idle_minutes: d.idle_minutes,
      turn_minutes: d.turn_minutes,
      checkpoints_kept_max: d.checkpoints_kept_max,
      permissions: { mode: 'all', rules: [] },
      talk: null,
      created_at: d.created_at,
      last_active_at: d.created_at,
      updated_at: event.at,
      version: event.version,
    },
  };
}

function changeOf(id: string, event: SessionEvent, recorded: RecordedEvent): SessionChange {
  switch (event.type) {
    case 'SessionRenamed':
      return { session: { name: event.data.name, title: event.data.title } };
    case 'IdleMinutesChanged':
      return { session: { idle_minutes: event.data.idle_minutes } };
    case 'HarnessChanged': {
      const { harness, model = null, harness_session = null, conversation } = event.data;
      // Older events do not say what it goes on with: then the turns after it do.
      if (conversation === undefined) return { session: { harness, model } };
      return { session: { harness, model, harness_session, conversation } };
    }
    case 'PermissionsChanged':
      return { session: { permissions: event.data } };
    case 'MessageQueued':
    case 'SteerRequested':
    case 'MessageReturned':
    case 'MessageDelivered':
    case 'MessageTakenBack':
    case 'MessageFailed':
      return { session: {}, others: projectMessage(id, event, recorded.version) };
    case 'AttentionRaised': {
      const { card_id, ...card } = event.data;
      const { asked = null, turn = null } = card;
      const row = { session_id: id, id: card_id, ordinal: recorded.version, ...card, asked, turn };
      return { session: {}, others: [{ op: 'add', table: 'card_view', row }] };
    }
    case 'AttentionCleared':
      return { session: {}, others: [dropOf('card_view', id, { id: event.data.card_id })] };
    case 'TurnRequested':
    case 'TurnStarted':
    case 'TurnFinished':
      return projectTurn(id, event);
    case 'CheckpointDue':
    case 'CheckpointRecorded':
    case 'CheckpointStillGood':
    case 'CheckpointMissed':
    case 'CheckpointsDropped':
      return projectCheckpoint(id, event);
    default:
      return stateOf(id, event);
  }
}

const dropOf = (
  table: 'card_view' | 'turn_view' | 'checkpoint_view' | 'message_view',
  session_id: string,
  where: Record<string, string> = {},
): ViewChange => ({ op: 'drop', table, where: { session_id, ...where } });

/** Without a sandbox, whatever the session was doing with it. */
const NO_SANDBOX = { sandbox_id: null, place: null, start_phase: null };

/** The states of [S2] and what is told of them; the rules themselves are the sessions service's. */
function stateOf(id: string, event: SessionEvent): SessionChange {
  switch (event.type) {
    case 'TalkRequested':
    case 'TalkEndRequested':
    case 'TalkEnded':
      return { session: talk(event) };
    case 'ResumeRequested':
    case 'TurnCancelRequested':
    case 'DeferRequested':
    case 'SuspendAborted':
      return { session: { state_reason: event.data.reason } };
    case 'InterruptionResolved':
      return { session: { state_reason: `${event.data.decision} after the interruption` } };
    case 'SandboxRequested':
      return { session: starting(event) };
    case 'StartPhaseChanged':
      return { session: { state_reason: event.data.text, start_phase: event.data.phase } };
    case 'SandboxAttached':
      return { session: { place: event.data.place } };
    case 'RestoreRequested':
      return {
        session: {
          state_reason: `restoring ${event.data.checkpoint_id}`,
          start_phase: 'restoring',
        },
      };
    case 'SessionStarted':
      return { session: { state: 'IDLE', state_reason: 'ready', start_phase: null } };
    case 'SessionResumed':
      return { session: resumed(event) };
    case 'SessionIdled':
      return { session: { state: 'IDLE', state_reason: event.data.reason } };
    case 'SuspendRequested':
      return { session: { state: 'SUSPENDING', state_reason: event.data.reason } };
    case 'SessionSuspended':
      return {
        session: {
          state: 'SUSPENDED',
          state_reason: event.data.reason,
          checkpointing: null,
          ...NO_SANDBOX,
        },
      };
    case 'SessionInterrupted':
      return { session: interrupted(event) };
    default:
      return endOf(id, event);
  }
}

function starting({ data }: Named<'SandboxRequested'>): ViewRow {
  const resuming = data.purpose === 'resume';
  return {
    state: resuming ? 'RESUMING' : 'STARTING',
    state_reason: resuming ? 'resuming' : 'starting',
    start_phase: 'requested',
    sandbox_id: data.sandbox_id,
    place: null,
  };
}

function talk(event: Named<'TalkRequested' | 'TalkEndRequested' | 'TalkEnded'>): ViewRow {
  const { terminal_id } = event.data;
  switch (event.type) {
    case 'TalkRequested':
      return {
        talk: { terminal_id, since: event.data.requested_at },
        state_reason: `somebody talks with the agent in terminal ${terminal_id}`,
      };
    case 'TalkEndRequested':
      return { state_reason: event.data.reason };
    case 'TalkEnded':
      return { talk: null, state_reason: `the talk with the agent ended: ${event.data.reason}` };
  }
}

function resumed({ data }: Named<'SessionResumed'>): ViewRow {
  return {
    state: 'IDLE',
    state_reason: data.checkpoint_id
      ? `resumed from ${data.checkpoint_id}`
      : 'resumed from nothing',
    start_phase: null,
    continuity: data.continuity,
  };
}

const interrupted = ({ data }: Named<'SessionInterrupted'>): ViewRow => ({
  state: 'INTERRUPTED',
  state_reason: data.reason,
  ...(data.sandbox_gone ? NO_SANDBOX : {}),
});

function endOf(id: string, event: SessionEvent): SessionChange {
  switch (event.type) {
    case 'SandboxReleased':
      return { session: {}, others: [letGo(id, event.data.sandbox_id)] };
    case 'SessionFailed':
      return {
        session: {
          state: 'FAILED',
          state_reason: event.data.reason,
          start_phase: null,
          checkpointing: null,
        },
      };
    case 'SessionArchived':
      return {
        session: {
          state: 'ARCHIVED',
          state_reason: 'archived',
          start_phase: null,
          checkpointing: null,
        },
        others: [
          dropOf('card_view', id),
          {
            op: 'set',
            table: 'message_view',
            where: { session_id: id, status: 'queued' },
            row: { status: 'failed', reason: 'the session was archived' },
          },
        ],
      };
    case 'SessionDeleted':
      // The row stays as a mark of whose the session was: its audit trail is kept [S6].
      return {
        session: {
          state: 'DELETED',
          state_reason: `deleted by ${event.data.deleted_by}`,
          checkpointing: null,
          continuity: null,
        },
        others: (['card_view', 'turn_view', 'checkpoint_view', 'message_view'] as const).map(
          (table) => dropOf(table, id),
        ),
      };
    default:
      return { session: {} };
  }
}

/** Only states that can be without a sandbox let go of it here; others change state themselves. */
const letGo = (id: string, sandbox_id: string): ViewChange => ({
  op: 'set',
  table: 'session_view',
  where: { id, sandbox_id, state: ['INTERRUPTED', 'FAILED', 'ARCHIVED', 'DELETED'] },
  row: NO_SANDBOX,
});
