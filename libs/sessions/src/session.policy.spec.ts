import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { EVENT_SCHEMAS, type AnyEvent } from '@hangar/contracts';
import { sessionPolicy } from './session.policy.ts';
import { SESSION_ID, minute } from './testing/stories.ts';

const FIXTURES = new URL('../../contracts/fixtures/', import.meta.url);
const event = (type: string): AnyEvent =>
  ({
    type,
    data: JSON.parse(readFileSync(new URL(`${type}.v1.json`, FIXTURES), 'utf8')),
  }) as AnyEvent;

/** What others tell, and the command that it is for the session. */
const TABLE: [string, string, string[]][] = [
  ['SandboxProgressed', 'NoteStartPhase', ['sandbox_id', 'phase', 'text']],
  ['SandboxReady', 'AttachSandbox', ['sandbox_id', 'place']],
  ['SandboxFailed', 'FailStart', ['sandbox_id', 'phase', 'reason']],
  ['SandboxExpiring', 'KeepOrSuspend', ['sandbox_id', 'busy']],
  ['SandboxDestroyed', 'FinishRelease', ['sandbox_id', 'cause']],
  ['SandboxLost', 'LoseSandbox', ['sandbox_id', 'reason']],
  ['RunStarted', 'NoteTurnStarted', ['run_id', 'turn']],
  ['RunMessageDelivered', 'NoteDelivery', ['run_id', 'turn', 'message_id']],
  ['RunMessageReturned', 'ReturnMessage', ['run_id', 'turn', 'message_id']],
  ['RunAsked', 'RaiseAsk', ['run_id', 'turn', 'ask']],
  ['RunAskClosed', 'CloseAsk', ['run_id', 'turn', 'ask_id']],
  ['RunFinished', 'FinishTurn', ['run_id', 'turn', 'outcome', 'summary', 'usage', 'conversation']],
  ['RunFailed', 'LoseTurn', ['run_id', 'turn', 'reason', 'sandbox_gone']],
  ['TerminalEnded', 'FinishTalk', ['terminal_id', 'reason', 'exit_code']],
  ['CheckpointTaken', 'RecordCheckpoint', ['checkpoint_id', 'epoch', 'reason', 'complete']],
  ['CheckpointSkipped', 'NoteUnchanged', ['checkpoint_id', 'same_as', 'reason', 'turn']],
  ['CheckpointFailed', 'MissCheckpoint', ['checkpoint_id', 'reason', 'error']],
  ['CheckpointRestored', 'FinishRestore', ['checkpoint_id', 'epoch', 'continuity']],
  ['CheckpointRestoreFailed', 'TryOlderCheckpoint', ['checkpoint_id', 'epoch', 'error']],
];

describe('what other aggregates tell', () => {
  it.each(TABLE)('%s gives %s', (type, commandType, fields) => {
    const told = event(type);
    const data = told.data as unknown as Record<string, unknown>;
    const [step, ...more] = sessionPolicy(told, minute(7));
    expect(more).toEqual([]);
    expect(step?.session_id).toBe(SESSION_ID);
    expect(step?.command).toMatchObject({ type: commandType, now: minute(7) });
    const carried = step?.command.data as Record<string, unknown>;
    for (const field of fields) expect(carried[field]).toEqual(data[field]);
  });

  it('a run that says itself that it is lost has said all that it did [M4]', () => {
    const step = sessionPolicy(event('RunFailed'), minute(7))[0];
    expect(step?.command.data).toMatchObject({ is_silent: false });
  });

  it.each([...EVENT_SCHEMAS.keys()].filter((type) => !TABLE.some(([t]) => t === type)))(
    '%s is nothing to a session',
    (type) => {
      expect(sessionPolicy(event(type), minute(0))).toEqual([]);
    },
  );
});
