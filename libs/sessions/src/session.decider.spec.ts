import { describe, expect, it } from '@jest/globals';
import { HangarError, validateEvent } from '@hangar/contracts';
import { decide } from './session.decider.ts';
import type { SessionCommand } from './session.commands.ts';
import { COMMAND_NAMES, allowed } from './testing/allowed.ts';
import {
  CONTINUITY,
  STORIES,
  answer,
  ask,
  attach,
  closeAsk,
  checkpointId,
  command,
  create,
  deliver,
  finish,
  lose,
  record,
  runId,
  sandboxId,
  send,
  stateAfter,
  steer,
  story,
  talk,
  talked,
  terminalId,
  type StoryName,
} from './testing/stories.ts';

const LATER = 100_000;

/** One of each, about what the stories hold: turn 1, sandbox 1 (2 after a resume), its checkpoints. */
const COMMANDS: Record<string, (name: StoryName) => SessionCommand> = {
  CreateSession: () => create,
  OpenSession: () => command('OpenSession', {}),
  SendMessage: () => send('msg-9'),
  'SendMessage again': () => send('msg-1'),
  'SendMessage to interrupt': () => send('msg-9', 0, 'interrupt'),
  'SendMessage to steer': () => steer('msg-9'),
  'TakeBackMessage of the turn': () => command('TakeBackMessage', { message_id: 'msg-1' }),
  'TakeBackMessage unknown': () => command('TakeBackMessage', { message_id: 'msg-8' }),
  'TakeBackMessage offered': () => command('TakeBackMessage', { message_id: 'msg-2' }),
  AnswerCard: () => answer(1),
  ChangePermissions: () => command('ChangePermissions', { mode: 'ask', rules: [] }),
  SuspendSession: () => command('SuspendSession', { force: false }),
  'SuspendSession by force': () => command('SuspendSession', { force: true }),
  ArchiveSession: () => command('ArchiveSession', {}),
  DeleteSession: () => command('DeleteSession', { force: false, deleted_by: 'token:t1' }),
  'DeleteSession by force': () => command('DeleteSession', { force: true, deleted_by: 'token:t1' }),
  KeepSession: () => command('KeepSession', { idle_minutes: 2880 }),
  'KeepSession the same': () => command('KeepSession', { idle_minutes: 30 }),
  InterruptTurn: () => command('InterruptTurn', {}),
  RetryTurn: () => command('RetryTurn', {}),
  ContinueSession: () => command('ContinueSession', {}),
  RenameSession: () => command('RenameSession', { name: 'other', title: '' }),
  TakeCheckpoint: () => command('TakeCheckpoint', {}),
  NoteStartPhase: (name) =>
    command('NoteStartPhase', { sandbox_id: held(name), phase: 'cloning', text: 'cloning' }),
  AttachSandbox: (name) => attach(held(name) === sandboxId(2) ? 2 : 1),
  FailStart: (name) =>
    command('FailStart', { sandbox_id: held(name), phase: 'cloning', reason: 'no such branch' }),
  LoseSandbox: (name) => command('LoseSandbox', { sandbox_id: held(name), reason: 'host down' }),
  FinishRelease: (name) => command('FinishRelease', { sandbox_id: held(name), cause: 'asked' }),
  KeepOrSuspend: (name) => command('KeepOrSuspend', { sandbox_id: held(name) }),
  FinishRestore: () =>
    command('FinishRestore', { checkpoint_id: checkpointId(2), epoch: 2, continuity: CONTINUITY }),
  TryOlderCheckpoint: () =>
    command('TryOlderCheckpoint', { checkpoint_id: checkpointId(2), epoch: 2, error: 'corrupt' }),
  StartTalk: () => talk(),
  'StartTalk, another': () => talk('req-2'),
  EndTalk: () => command('EndTalk', { terminal_id: terminalId(1) }),
  FinishTalk: () => talked(1),
  NoteTurnStarted: () => command('NoteTurnStarted', { run_id: runId(1), turn: 1 }),
  NoteDelivery: () => command('NoteDelivery', { run_id: runId(1), turn: 1, message_id: 'msg-1' }),
  'NoteDelivery of an offered one': () => deliver(1, 'msg-2'),
  ReturnMessage: () => command('ReturnMessage', { run_id: runId(1), turn: 1, message_id: 'msg-2' }),
  RaiseAsk: () => ask(1),
  CloseAsk: () => closeAsk(1),
  FinishTurn: () => finish(1),
  'FinishTurn, deferred': () => finish(1, 'deferred'),
  LoseTurn: () => lose('vanished'),
  'LoseTurn, sandbox gone': () => lose('sandbox gone'),
  'LoseTurn, silent': () => lose('silent'),
  RecordCheckpoint: (name) => record(waitedFor(name)),
  NoteUnchanged: (name) =>
    command('NoteUnchanged', {
      checkpoint_id: checkpointId(waitedFor(name)),
      same_as: checkpointId(1),
      reason: 'turn',
      turn: 1,
    }),
  MissCheckpoint: (name) =>
    command('MissCheckpoint', {
      checkpoint_id: checkpointId(waitedFor(name)),
      reason: 'turn',
      error: 'no space left',
    }),
  SuspendIfIdle: () => command('SuspendIfIdle', { last_active_at: null, busy: false }, LATER),
  CheckpointIfDue: () => command('CheckpointIfDue', { checkpoint_minutes: 10 }, LATER),
  FailIfLate: () => command('FailIfLate', { start_deadline_minutes: 15 }, LATER),
  ChangeHarness: () => command('ChangeHarness', { harness: 'pi', model: null }, LATER),
  'ChangeHarness, the model alone': () =>
    command('ChangeHarness', { harness: 'fake', model: 'model-2' }, LATER),
  EndUsageLimit: () => command('EndUsageLimit', {}, LATER),
  SuspendIfReleaseLate: () =>
    command('SuspendIfReleaseLate', { release_deadline_minutes: 15 }, LATER),
};

const held = (name: StoryName): string => sandboxId(name.startsWith('RESUMING') ? 2 : 1);
const waitedFor = (name: StoryName): number =>
  Number(stateAfter(story(name))?.checkpointing?.id.split('-')[2] ?? 1);

/** `-`: quiet. `!code`: refused. Else the events, in order. */
function outcomeOf(name: StoryName, given: SessionCommand): string {
  const state = stateAfter(story(name));
  const before = JSON.stringify(state);
  try {
    const events = decide(state, given);
    for (const e of events) validateEvent(e.type, JSON.parse(JSON.stringify(e.data)));
    return events.map((e) => e.type).join(' ') || '-';
  } catch (error) {
    if (error instanceof HangarError && error.message !== '') return `!${error.code}`;
    throw error;
  } finally {
    expect(JSON.stringify(state)).toBe(before);
  }
}

it('has a rule for every command, and a command for every rule', () => {
  expect(Object.keys(COMMANDS).sort()).toEqual([...COMMAND_NAMES].sort());
});

describe.each(Object.keys(STORIES) as StoryName[])('%s', (name) => {
  it.each(COMMAND_NAMES)('%s: allowed, refused with a reason, or quiet', (about) => {
    const found = outcomeOf(name, (COMMANDS[about] ?? (() => create))(name));
    expect(found).toBe(allowed(about, name));
  });
});
