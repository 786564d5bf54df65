import { describe, expect, it } from '@jest/globals';
import { MESSAGES_QUEUED_MAX, deriveId } from '@hangar/contracts';
import { given } from '@hangar/testing';
import {
  SESSION_ID,
  attach,
  checkpointId,
  command,
  create,
  decided,
  decider,
  finish,
  record,
  runId,
  sandboxId,
  send,
  sessionAfter,
  story,
  told,
  STORIES,
} from './testing/stories.ts';

const takeBack = (id: string) => command('TakeBackMessage', { message_id: id });
const types = (events: { type: string }[]): string[] => events.map((e) => e.type);

describe('while a sandbox starts', () => {
  const waiting = told(create, send('msg-1'), send('msg-2'));

  it('messages queue first in, first out, and the first becomes the turn [M1]', () => {
    given(decider, ...waiting)
      .when(attach(1))
      .thenState((s) => {
        expect(s?.turns.map((t) => t.message_id)).toEqual(['msg-1']);
        expect(s?.queue.map((m) => m.message_id)).toEqual(['msg-1', 'msg-2']);
      });
  });

  it('a message can be taken back until it is delivered [M4]', () => {
    expect(decided(waiting, takeBack('msg-1'))).toEqual([
      { type: 'MessageTakenBack', data: { message_id: 'msg-1' } },
    ]);
  });

  it('a message taken back stays so, also when it is sent or taken back once more [M4]', () => {
    const past = told(create, send('msg-1'), takeBack('msg-1'));
    expect(decided(past, send('msg-1'))).toEqual([]);
    expect(decided(past, takeBack('msg-1'))).toEqual([]);
  });

  it('the queue is bounded and refuses above that [M1]', () => {
    const many = Array.from({ length: MESSAGES_QUEUED_MAX }, (_, i) => send(`msg-${i}`));
    const refusal = given(decider, ...told(create, ...many))
      .when(send('msg-99'))
      .thenRefuses('exhausted', 'this one was not taken');
    expect(refusal.hint).toContain('take one back');
  });
});

describe('while a turn runs', () => {
  it('`interrupt` stops the turn, keeps its work and starts with this message [M3]', () => {
    const past = told(...STORIES['ACTIVE, running'], send('msg-2'));
    given(decider, ...past)
      .when(send('msg-3', 0, 'interrupt'))
      .thenState((s) => {
        expect(s?.queue.map((m) => m.message_id)).toEqual(['msg-3', 'msg-2']);
        expect(s?.phase).toMatchObject({ state: 'ACTIVE', step: 'cancelling' });
      });
  });

  it('cancelling a turn keeps the queue [M4]', () => {
    const past = told(...STORIES['ACTIVE, running'], send('msg-2'), command('InterruptTurn', {}));
    given(decider, ...past)
      .when(finish(1, 'cancelled'))
      .thenState((s) => expect(s?.queue.map((m) => m.message_id)).toEqual(['msg-2']));
  });

  it('the message in flight is the agent’s, others can still be taken back [M4]', () => {
    const past = told(...STORIES['ACTIVE, requested'], send('msg-2'));
    given(decider, ...past)
      .when(takeBack('msg-1'))
      .thenRefuses('conflict', 'being given it');
    expect(decided(past, takeBack('msg-2'))).toEqual([
      { type: 'MessageTakenBack', data: { message_id: 'msg-2' } },
    ]);
  });

  it.each(['failed', 'cancelled', 'timed_out'])(
    'a turn that %s without word of delivery did not deliver its message [M4]',
    (outcome) => {
      const events = told(...STORIES['ACTIVE, requested'], finish(1, outcome));
      expect(types(events)).toContain('MessageFailed');
      expect(types(events)).not.toContain('MessageDelivered');
    },
  );

  it('a turn that succeeded had its message, also when no word of it came [M4]', () => {
    const events = told(...STORIES['ACTIVE, requested'], finish(1));
    expect(types(events).filter((t) => t.startsWith('Message'))).toEqual([
      'MessageQueued',
      'MessageDelivered',
    ]);
  });

  it('a message becomes the next turn when the checkpoint of this one is recorded [C2]', () => {
    const past = told(...STORIES['ACTIVE, ended'], send('msg-2'));
    given(decider, ...past)
      .when(record(1))
      .thenState((s) => expect(s?.turns.map((t) => t.message_id)).toEqual(['msg-1', 'msg-2']));
  });
});

describe('while a checkpoint is being taken at rest', () => {
  const past = told(...STORIES['IDLE, a checkpoint is being taken'], send('msg-1'));

  it('a message waits for it, so that the tree is still', () => {
    expect(sessionAfter(past).phase.state).toBe('IDLE');
  });

  it.each(['recorded', 'missed'])('its turn starts when the checkpoint is %s', (how) => {
    const end =
      how === 'recorded'
        ? record(1, { reason: 'manual', turn: 0 })
        : command('MissCheckpoint', {
            checkpoint_id: checkpointId(1),
            reason: 'manual',
            error: 'no space',
          });
    given(decider, ...past)
      .when(end)
      .thenState((s) => expect(s?.phase).toMatchObject({ state: 'ACTIVE', turn: 1 }));
  });
});

describe('INTERRUPTED', () => {
  it('`retry` is the same message again, before the others [S3]', () => {
    const past = told(...STORIES.INTERRUPTED, send('msg-2'));
    const again = deriveId('msg', SESSION_ID, 'retry', 1);
    given(decider, ...past)
      .when(command('RetryTurn', {}))
      .thenState((s) => {
        expect(s?.turns[1]).toMatchObject({ message_id: again, message: 'please msg-1' });
        expect(s?.queue.map((m) => m.message_id)).toEqual([again, 'msg-2']);
        expect(s?.attention).toEqual([]);
      });
  });

  it('`continue` drops the message and goes on with the queue [S3]', () => {
    const past = told(...STORIES.INTERRUPTED, send('msg-2'));
    given(decider, ...past)
      .when(command('ContinueSession', {}))
      .thenState((s) => expect(s?.turns[1]?.message_id).toBe('msg-2'));
  });

  it('the agent is told that the turn was cut', () => {
    const events = told(...STORIES.INTERRUPTED, command('RetryTurn', {}));
    const turn = events.findLast((e) => e.type === 'TurnRequested');
    expect(turn?.data).toMatchObject({
      run_id: runId(2),
      notes: expect.stringContaining('turn 1 was cut'),
    });
  });

  it('`retry` while a checkpoint is being taken waits for it', () => {
    const past = told(...STORIES.INTERRUPTED, command('TakeCheckpoint', {}));
    given(decider, ...past)
      .when(command('RetryTurn', {}))
      .thenState((s) => {
        expect(s?.phase.state).toBe('IDLE');
        expect(s?.queue).toHaveLength(1);
      });
  });

  it('a cut message that nobody confirmed is failed, not lost in silence [M4]', () => {
    const lost = command('LoseSandbox', { sandbox_id: sandboxId(1), reason: 'host down' });
    const events = told(...STORIES['ACTIVE, requested'], lost);
    expect(types(events)).toContain('MessageFailed');
  });

  it('`retry` sends the whole message again, however long it is [S3]', () => {
    const long = 'x'.repeat(100_000);
    const first = command('SendMessage', {
      message_id: 'msg-1',
      text: long,
      mode: 'auto',
      steers: false,
    });
    const lost = command('LoseTurn', {
      run_id: runId(1),
      turn: 1,
      reason: 'killed',
      sandbox_gone: false,
    });
    const past = told(create, attach(1), first, lost, record(1));
    const s = sessionAfter([...past, ...decided(past, command('RetryTurn', {}))]);
    expect(s.turns[1]?.message).toBe(long);
    expect(s.turns[0]?.message.length).toBeLessThan(2100);
  });

  it('says how old the work is that is safe [S3]', () => {
    const s = sessionAfter(story('INTERRUPTED'));
    expect(s.state_reason).toContain('work up to checkpoint ckp-1a2b3c4d-1 of 2030-01-01');
    expect(s.attention[0]).toMatchObject({ kind: 'interrupted', choices: ['retry', 'continue'] });
  });
});
