import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { SessionEvent } from '@hangar/contracts';
import { evolve } from './session.evolve.ts';
import type { Session } from './session.ts';
import { sessionAfter, story, type StoryName } from './testing/stories.ts';

const FIXTURES = new URL('../../contracts/fixtures/', import.meta.url);

type Before = StoryName;
/** The state an event comes into, and what it does there; paths that lead to a value. */
const EFFECTS: { [T in SessionEvent['type']]: [Before, (s: Session) => unknown, unknown] } = {
  SessionCreated: [
    'not created',
    (s) => [s.id, s.phase.state, s.model],
    ['ses-1a2b3c4d', 'SUSPENDED', 'model-1'],
  ],
  SessionRenamed: ['IDLE', (s) => s.name, 'other'],
  IdleMinutesChanged: ['IDLE', (s) => s.idle_minutes, 2880],
  MessageQueued: ['STARTING', (s) => s.queue.map((m) => m.message_id), ['msg-0000000a']],
  MessageDelivered: ['STARTING', (s) => s.queue, []],
  SteerRequested: [
    'ACTIVE, running',
    (s) => s.queue.filter((m) => m.offered).map((m) => m.message_id),
    [],
  ],
  MessageReturned: ['STARTING', (s) => s.queue.filter((m) => m.offered), []],
  TakeBackRequested: ['STARTING', (s) => s.queue.filter((m) => m.offered), []],
  DeferRequested: [
    'ACTIVE, running',
    (s) => s.phase.state === 'ACTIVE' && s.phase.step,
    'deferring',
  ],
  HarnessChanged: [
    'IDLE, saved',
    (s) => [s.harness, s.model, s.harness_session, s.conversation, s.hand_off],
    ['pi', 'model-2', null, 'none', true],
  ],
  UsageLimitReached: ['IDLE', (s) => s.limited?.until, '2030-01-01T05:00:00.000Z'],
  UsageLimitEnded: ['IDLE', (s) => s.limited, null],
  PermissionsChanged: ['IDLE', (s) => s.permissions.mode, 'ask'],
  TalkRequested: ['IDLE, saved', (s) => s.talk?.terminal_id, 'trm-1a2b3c4d-1'],
  TalkEndRequested: ['IDLE, talking', (s) => s.talk?.ending, true],
  TalkEnded: ['IDLE, talking', (s) => [s.talk, s.talk_number], [null, 1]],
  CardAnswered: ['SUSPENDED, asked', (s) => s.given.map((g) => g.answer.verdict), ['allow']],
  MessageTakenBack: ['STARTING', (s) => s.taken_back, ['msg-0000000a']],
  MessageFailed: ['STARTING', (s) => s.queue, []],
  SandboxRequested: ['SUSPENDED', (s) => s.phase.state, 'STARTING'],
  StartPhaseChanged: ['STARTING', (s) => s.state_reason, 'cloning'],
  SandboxAttached: ['STARTING', (s) => s.attached_epoch, 1],
  RestoreRequested: [
    'RESUMING',
    (s) => 'restoring' in s.phase && s.phase.restoring?.checkpoint_id,
    'ckp-1a2b3c4d-2',
  ],
  SessionStarted: ['STARTING', (s) => s.phase.state, 'IDLE'],
  ResumeRequested: ['SUSPENDED', (s) => s.state_reason, 'opened'],
  SessionResumed: ['RESUMING, restoring', (s) => [s.phase.state, s.notes.length], ['IDLE', 1]],
  TurnRequested: ['IDLE', (s) => [s.phase.state, s.turns.length], ['ACTIVE', 1]],
  TurnStarted: ['ACTIVE, requested', (s) => s.phase.state === 'ACTIVE' && s.phase.step, 'running'],
  TurnCancelRequested: [
    'ACTIVE, running',
    (s) => s.phase.state === 'ACTIVE' && s.phase.step,
    'cancelling',
  ],
  TurnFinished: ['ACTIVE, running', (s) => s.phase.state === 'ACTIVE' && s.phase.step, 'ended'],
  CheckpointDue: ['IDLE', (s) => s.checkpointing?.id, 'ckp-1a2b3c4d-1'],
  CheckpointRecorded: ['ACTIVE, ended', (s) => s.checkpoints.map((c) => c.id), ['ckp-1a2b3c4d-1']],
  CheckpointStillGood: ['ACTIVE, ended', (s) => s.checkpointing, null],
  CheckpointMissed: ['ACTIVE, ended', (s) => s.checkpointing, null],
  CheckpointsDropped: ['IDLE, saved', (s) => s.checkpoints, []],
  SessionIdled: ['ACTIVE, ended', (s) => s.phase.state, 'IDLE'],
  SuspendRequested: ['IDLE', (s) => s.phase.state, 'SUSPENDING'],
  SuspendAborted: ['SUSPENDING, saving', (s) => s.state_reason.startsWith('not suspended'), true],
  SandboxReleaseRequested: [
    'SUSPENDING, saving',
    (s) => s.phase.state === 'SUSPENDING' && s.phase.step,
    'release',
  ],
  SandboxReleased: ['FAILED', (s) => 'sandbox' in s.phase && s.phase.sandbox, null],
  SandboxKeepRequested: ['IDLE', (s) => s.phase.state, 'IDLE'],
  SessionSuspended: ['SUSPENDING, releasing', (s) => s.phase, { state: 'SUSPENDED' }],
  SessionInterrupted: ['ACTIVE, ended', (s) => s.phase.state, 'INTERRUPTED'],
  InterruptionResolved: ['INTERRUPTED', (s) => s.notes.length, 1],
  SessionFailed: ['STARTING', (s) => s.phase.state, 'FAILED'],
  SessionArchived: ['IDLE', (s) => s.phase.state, 'ARCHIVED'],
  SessionDeleted: ['IDLE', (s) => s.phase.state, 'DELETED'],
  AttentionRaised: ['IDLE', (s) => s.attention.length, 1],
  AttentionCleared: ['INTERRUPTED', (s) => s.attention.length, 0],
};

/** All versions ever written of one event, oldest first. */
const fixturesOf = (type: string): string[] =>
  readdirSync(FIXTURES).filter((file) => file.startsWith(`${type}.v`));

describe('old session events still fold', () => {
  it('a change of the model alone keeps the conversation, also where the event does not say so', () => {
    const before = sessionAfter(story('IDLE, saved')) as Session;
    const data = { harness: before.harness, model: 'model-2' };
    const after = evolve(before, { type: 'HarnessChanged', data }) as Session;
    expect(after).toEqual({ ...before, model: 'model-2' });
    expect(after.harness_session).not.toBeNull();
  });

  it.each(Object.keys(EFFECTS) as SessionEvent['type'][])('%s', (type) => {
    const [before, read, effect] = EFFECTS[type];
    const files = fixturesOf(type);
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      const data = JSON.parse(readFileSync(new URL(file, FIXTURES), 'utf8')) as object;
      const state = before === 'not created' ? null : sessionAfter(story(before));
      const after = evolve(state, { type, data } as SessionEvent) as Session;
      expect(read(after)).toEqual(effect);
      expect(after.state_reason).not.toBe('');
    }
  });
});
