import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { sessionPartId, type SessionEvent } from '@hangar/contracts';
import type { RecordedEvent } from '@hangar/messaging';
import {
  decide,
  evolve,
  heldSandbox,
  type Session,
  type SessionCommand,
  type SessionState,
} from '@hangar/sessions';
import { seededRandom } from '@hangar/testing';
import { MemoryViews } from '../views/view-memory.ts';
import { queueOf } from './session.document.ts';
import { projectSession } from './session.projection.ts';
import type { MessageView, TurnView } from './session.view.ts';

const ID = 'ses-1a2b3c4d';
const PLACE = {
  sandbox_id: '',
  instance: 'boot',
  home: '/home/agent',
  cwd: '/workspace/app',
  node: '/n',
  tools: '/t',
  harness_root: '/h',
};
const PART = { state: 'kept' };
const CONTINUITY = {
  conversation: PART,
  commits: PART,
  staged: PART,
  unstaged: PART,
  untracked: PART,
  ignored: PART,
  processes: PART,
  losses: [],
};
const USAGE = { input_tokens: 1, output_tokens: 1, cached_tokens: 0 };

/** What people and other services may say next, right or wrong, early or late. */
function commands(
  s: Session,
  step: number,
  random: () => number,
): { type: string; data: object }[] {
  const hold = heldSandbox(s);
  const sandbox_id = hold?.id ?? sessionPartId('sbx', ID, 1);
  const turn = Math.max(1, s.turns.length);
  const run_id = sessionPartId('run', ID, turn);
  const message_id = `msg-0000${String(step).padStart(4, '0')}`;
  const checkpoint_id = s.checkpointing?.id ?? sessionPartId('ckp', ID, 1);
  const reason = s.checkpointing?.reason ?? 'manual';
  const complete = random() < 0.7;
  const newest = s.checkpoints.at(-1)?.id ?? checkpoint_id;
  return [
    { type: 'SendMessage', data: { message_id, text: 'do it', mode: 'auto' } },
    { type: 'SendMessage', data: { message_id, text: 'stop that', mode: 'interrupt' } },
    { type: 'TakeBackMessage', data: { message_id: s.queue.at(-1)?.message_id ?? message_id } },
    { type: 'OpenSession', data: {} },
    { type: 'SuspendSession', data: { force: random() < 0.3 } },
    { type: 'InterruptTurn', data: {} },
    { type: 'RetryTurn', data: {} },
    { type: 'ContinueSession', data: {} },
    { type: 'RenameSession', data: { name: `name-${step}`, title: 'A title' } },
    { type: 'KeepSession', data: { idle_minutes: step } },
    { type: 'TakeCheckpoint', data: {} },
    { type: 'NoteStartPhase', data: { sandbox_id, phase: 'cloning', text: 'cloning the repo' } },
    { type: 'AttachSandbox', data: { sandbox_id, place: { ...PLACE, sandbox_id } } },
    { type: 'AttachSandbox', data: { sandbox_id, place: { ...PLACE, sandbox_id } } },
    { type: 'FailStart', data: { sandbox_id, phase: 'cloning', reason: 'no such repo' } },
    { type: 'LoseSandbox', data: { sandbox_id, reason: 'vanished' } },
    { type: 'FinishRelease', data: { sandbox_id, cause: 'suspend' } },
    { type: 'KeepOrSuspend', data: { sandbox_id } },
    {
      type: 'FinishRestore',
      data: { checkpoint_id: newest, epoch: s.epoch, continuity: CONTINUITY },
    },
    { type: 'TryOlderCheckpoint', data: { checkpoint_id: newest, epoch: s.epoch, error: 'bad' } },
    { type: 'NoteTurnStarted', data: { run_id, turn } },
    {
      type: 'NoteDelivery',
      data: { run_id, turn, message_id: s.queue[0]?.message_id ?? message_id },
    },
    {
      type: 'FinishTurn',
      data: {
        run_id,
        turn,
        outcome: random() < 0.7 ? 'succeeded' : 'failed',
        summary: 'done',
        usage: USAGE,
        conversation: 'native',
        harness_session: 'h-1',
      },
    },
    { type: 'LoseTurn', data: { run_id, turn, reason: 'gone', sandbox_gone: random() < 0.5 } },
    {
      type: 'RecordCheckpoint',
      data: {
        checkpoint_id,
        reason,
        turn: s.turns.length,
        complete,
        head: 'a'.repeat(40),
        parts: [],
        skipped: complete ? [] : [{ path: 'big', reason: 'too large' }],
        warnings: [],
        taken_at: timeOf(step),
      },
    },
    { type: 'NoteUnchanged', data: { checkpoint_id, same_as: newest, reason, turn } },
    { type: 'MissCheckpoint', data: { checkpoint_id, reason, error: 'disk full' } },
  ];
}

const timeOf = (step: number): string => new Date(Date.UTC(2030, 0, 1, 0, step)).toISOString();

const recorded = (event: SessionEvent, version: number): RecordedEvent =>
  ({
    ...event,
    stream: `session/${ID}`,
    aggregate: 'session',
    version,
    id: String(version),
    schema: 1,
    meta: { actor: 'test', cause: null, correlation: 'test' },
    at: timeOf(version),
    position: { fence: '1', position: String(version) },
  }) as unknown as RecordedEvent;

/** What the session aggregate and the read model both know, in one shape. */
const shapeOfState = (s: Session): object => ({
  state: s.phase.state,
  state_reason: s.state_reason,
  name: s.name,
  title: s.title,
  idle_minutes: s.idle_minutes,
  sandbox_id: heldSandbox(s)?.id ?? null,
  place: heldSandbox(s)?.place ?? null,
  start_phase: 'step' in s.phase && 'restoring' in s.phase ? s.phase.step : null,
  checkpointing: s.checkpointing?.id ?? null,
  harness_session: s.harness_session,
  conversation: s.conversation,
  continuity: s.phase.state === 'DELETED' ? null : s.continuity,
  queue: s.queue.map(({ message_id }) => message_id),
  turns: s.turns.map((t) => [t.number, t.message_id, t.outcome, t.summary, t.checkpoint_id]),
  checkpoints: s.checkpoints.map((c) => [c.id, c.turn, c.complete]),
  cards: s.attention.map(({ id }) => id),
});

function shapeOfViews(views: MemoryViews): object {
  const [row = {}] = views.rows('session_view');
  const by = (table: 'turn_view' | 'checkpoint_view' | 'card_view', key: string) =>
    views.rows(table).toSorted((a, b) => Number(a[key]) - Number(b[key]));
  const turns = by('turn_view', 'number');
  const queue = queueOf({
    turns: turns.map((t) => t as unknown as TurnView),
    messages: views
      .rows('message_view')
      .map((m) => ({ ...m, queued_at: new Date(0) }) as unknown as MessageView),
  });
  return {
    state: row['state'],
    state_reason: row['state_reason'],
    name: row['name'],
    title: row['title'],
    idle_minutes: row['idle_minutes'],
    sandbox_id: row['sandbox_id'],
    place: row['place'],
    start_phase: row['start_phase'],
    checkpointing: row['checkpointing'],
    harness_session: row['harness_session'],
    conversation: row['conversation'],
    continuity: row['continuity'],
    queue: queue.map(({ message_id }) => message_id),
    turns: turns.map((t) =>
      ['number', 'message_id', 'outcome', 'summary', 'checkpoint_id'].map((key) => t[key]),
    ),
    checkpoints: by('checkpoint_view', 'ordinal').map((c) => [c['id'], c['turn'], c['complete']]),
    cards: by('card_view', 'ordinal').map((c) => c['id']),
  };
}

const CREATE = {
  type: 'CreateSession',
  now: timeOf(0),
  data: {
    session_id: ID,
    name: 'work',
    title: 'Work',
    owner: 'sean',
    environment: 'plain',
    harness: 'fake',
    branch: 'hangar/session/work',
    cwd: '/workspace/app',
    idle_minutes: 30,
    turn_minutes: 60,
    checkpoints_kept_max: 3,
  },
} as SessionCommand;

function tried(state: SessionState, command: SessionCommand): SessionEvent[] {
  try {
    return decide(state, command);
  } catch {
    return [];
  }
}

describe('the read model of a session', () => {
  it('shows what the session is, after every command of 200 random lives', () => {
    const seen = new Set<string>();
    const deleted: unknown[] = [];
    const differences: object[] = [];
    for (let seed = 1; seed <= 200; seed += 1) {
      const random = seededRandom(seed);
      const views = new MemoryViews();
      let state: SessionState = null;
      let version = 0;
      const take = (events: SessionEvent[]): void => {
        for (const event of events) {
          version += 1;
          state = evolve(state, event);
          views.apply(projectSession(recorded(event, version)));
          seen.add(event.type);
        }
      };
      take(tried(state, CREATE));
      for (let step = 1; step <= 80; step += 1) {
        const s = state as unknown as Session;
        const choices = commands(s, step, random);
        const isEnd = step > 76 && seed % 3 === 0;
        const end = { type: seed % 2 ? 'ArchiveSession' : 'DeleteSession', data: { force: true } };
        const chosen = isEnd ? end : choices[Math.floor(random() * choices.length)];
        const command = { now: timeOf(step), ...chosen } as unknown as SessionCommand;
        if (isEnd) Object.assign(command.data, { deleted_by: 'sean' });
        take(tried(state, command));
        const context = `seed ${seed}, step ${step}, ${command.type}`;
        const now = state as unknown as Session;
        if (now.phase.state === 'DELETED') {
          deleted.push([views.rows('session_view')[0]?.['state'], views.rows('turn_view').length]);
          break;
        }
        const [shown, wanted] = [shapeOfViews(views), shapeOfState(now)];
        if (!isDeepStrictEqual(shown, wanted)) differences.push({ context, shown, wanted });
      }
    }
    expect(differences.slice(0, 1)).toEqual([]);
    expect(deleted.length).toBeGreaterThan(10);
    expect(new Set(deleted.map(String))).toEqual(new Set(['DELETED,0']));
    expect([...seen].toSorted()).toEqual(
      expect.arrayContaining([
        'CheckpointMissed',
        'CheckpointStillGood',
        'CheckpointsDropped',
        'InterruptionResolved',
        'MessageFailed',
        'MessageTakenBack',
        'SessionArchived',
        'SessionDeleted',
        'SessionFailed',
        'SessionInterrupted',
        'SessionResumed',
        'SessionSuspended',
        'SuspendAborted',
      ]),
    );
  });
});
