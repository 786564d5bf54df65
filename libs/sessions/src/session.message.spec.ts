import { describe, expect, it } from '@jest/globals';
import { MESSAGES_QUEUED_MAX, deriveId, type SessionEvent } from '@hangar/contracts';
import { given } from '@hangar/testing';
import {
  SESSION_ID,
  attach,
  checkpointId,
  command,
  create,
  decided,
  decider,
  deliver,
  finish,
  lose,
  record,
  runId,
  sandboxId,
  send,
  sessionAfter,
  steer,
  story,
  told,
  STORIES,
} from './testing/stories.ts';

const takeBack = (id: string) => command('TakeBackMessage', { message_id: id });
const interrupt = command('InterruptTurn', {});
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
    const past = told(create, attach(1), first, lose('vanished'), record(1));
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

describe('a message while a turn runs steers it where the harness can', () => {
  const RUNNING = STORIES['ACTIVE, running'];
  const STEERED = STORIES['ACTIVE, steered'];
  const returned = (id: string, turn = 1) =>
    command('ReturnMessage', { run_id: runId(turn), turn, message_id: id });
  const waiting = (events: SessionEvent[]): string[] =>
    sessionAfter(events).queue.map((m) => m.message_id);

  it.each(['auto', 'steer'] as const)('`%s` is offered to its run [M3]', (mode) => {
    const [queued, ...more] = decided(told(...RUNNING), steer('msg-2', mode));
    expect(queued?.type).toBe('MessageQueued');
    expect(more).toEqual([
      {
        type: 'SteerRequested',
        data: {
          session_id: SESSION_ID,
          message_id: 'msg-2',
          text: 'please msg-2',
          turn: 1,
          run_id: runId(1),
        },
      },
    ]);
  });

  it('`queue` waits for the next turn, and so does any where the harness cannot [M3]', () => {
    for (const next of [steer('msg-2', 'queue'), send('msg-2'), send('msg-2', 0, 'steer')])
      expect(types(decided(told(...RUNNING), next))).toEqual(['MessageQueued']);
  });

  it('`interrupt` stops the turn and is not offered to it [M3]', () => {
    expect(types(decided(told(...RUNNING), steer('msg-2', 'interrupt')))).toEqual([
      'MessageQueued',
      'TurnCancelRequested',
    ]);
  });

  it('`auto` keeps the order: behind one that waits it waits; `steer` overtakes [M1] [M3]', () => {
    const past = told(...RUNNING, send('msg-2', 0, 'queue'));
    expect(types(decided(past, steer('msg-3')))).toEqual(['MessageQueued']);
    expect(types(decided(past, steer('msg-3', 'steer')))).toContain('SteerRequested');
  });

  it('`auto` follows those that are offered themselves, and waits behind one that came back [M3]', () => {
    expect(types(decided(told(...STEERED), steer('msg-3')))).toContain('SteerRequested');
    const past = told(...STEERED, returned('msg-2'));
    expect(types(decided(past, steer('msg-3')))).toEqual(['MessageQueued']);
    expect(waiting([...past, ...decided(past, steer('msg-3'))])).toEqual(['msg-2', 'msg-3']);
  });

  it.each([
    'STARTING',
    'IDLE, a checkpoint is being taken',
    'ACTIVE, deferring',
    'ACTIVE, cancelling',
    'ACTIVE, ended',
    'SUSPENDING, saving',
    'SUSPENDED',
    'RESUMING',
    'INTERRUPTED',
    'FAILED',
  ] as const)('in %s it is a turn of its own, never lost [M3]', (state) => {
    const events = told(...STORIES[state], steer('msg-2', 'steer'));
    expect(types(events)).not.toContain('SteerRequested');
    expect(waiting(events)).toContain('msg-2');
  });

  it('the message that begins a turn is not offered to it as well [M4]', () => {
    expect(types(decided(told(...STORIES.IDLE), steer('msg-1', 'steer')))).toEqual([
      'MessageQueued',
      'TurnRequested',
    ]);
  });

  it('once delivered it is the agent’s, and no turn of its own [M3]', () => {
    const past = told(...STEERED, deliver(1, 'msg-2'));
    expect(waiting(past)).toEqual([]);
    given(decider, ...past)
      .when(takeBack('msg-2'))
      .thenRefuses('conflict', 'the agent has this message');
    expect(decided(past, steer('msg-2'))).toEqual([]);
    const events = [...past, ...decided(past, finish(1))];
    const after = [...events, ...decided(events, record(1))];
    expect(sessionAfter(after).turns).toHaveLength(1);
  });

  it.each([
    ['the run gave it back', [returned('msg-2'), finish(1)]],
    ['the turn ended first', [finish(1)]],
    ['the turn failed', [finish(1, 'failed')]],
    ['the turn was interrupted', [command('InterruptTurn', {}), finish(1, 'cancelled')]],
    ['the turn ended on its question', [finish(1, 'deferred')]],
  ])('not delivered because %s, it is the next turn [M3]', (_why, ends) => {
    const events = told(...STEERED, ...ends, record(1));
    expect(events.filter((e) => e.type === 'MessageReturned')).toHaveLength(1);
    expect(sessionAfter(events).turns[1]?.message_id).toBe('msg-2');
    // What the first run says of it from now on is late.
    expect(decided(events, deliver(1, 'msg-2'))).toEqual([]);
  });

  it.each([
    ['the run is lost', lose('vanished')],
    ['its sandbox is lost', command('LoseSandbox', { sandbox_id: sandboxId(1), reason: 'x' })],
  ])(
    'where %s it waits for the person’s decision, and then for its turn [M3] [S3]',
    (_how, lost) => {
      const events = told(...STEERED, lost);
      expect(types(events)).toContain('MessageReturned');
      expect(waiting(events)).toEqual(['msg-2']);
    },
  );

  it('where nobody knows whether the agent had it, it failed and says so; it is not told twice [M4]', () => {
    const events = told(...STEERED, lose('silent'));
    expect(waiting(events)).toEqual([]);
    expect(events.find((e) => e.type === 'MessageFailed')?.data).toMatchObject({
      message_id: 'msg-2',
      reason: expect.stringContaining('not known whether the agent had it'),
    });
  });

  describe('taken back while it is offered: delivered or taken back, exactly one of the two [M4]', () => {
    const WANTED = [...STEERED, takeBack('msg-2')];

    it('its run is asked for it, once', () => {
      expect(decided(told(...STEERED), takeBack('msg-2'))).toEqual([
        {
          type: 'TakeBackRequested',
          data: { session_id: SESSION_ID, message_id: 'msg-2', turn: 1, run_id: runId(1) },
        },
      ]);
      expect(decided(told(...WANTED), takeBack('msg-2'))).toEqual([]);
    });

    const delivered = deliver(1, 'msg-2');
    const sandboxLost = command('LoseSandbox', { sandbox_id: sandboxId(1), reason: 'host down' });
    const back = returned('msg-2');
    it.each([
      ['delivered', [delivered], 'MessageDelivered'],
      ['delivered, told twice', [delivered, delivered], 'MessageDelivered'],
      ['delivered, then given back', [delivered, back], 'MessageDelivered'],
      ['given back', [back], 'MessageTakenBack'],
      ['given back, then delivered', [back, delivered], 'MessageTakenBack'],
      ['the end of the turn', [finish(1)], 'MessageTakenBack'],
      ['the end of the turn, then delivered', [finish(1), delivered], 'MessageTakenBack'],
      ['delivered, then the end', [delivered, finish(1)], 'MessageDelivered'],
      ['the loss of the run', [lose('vanished')], 'MessageTakenBack'],
      ['delivered, then the loss of the run', [delivered, lose('vanished')], 'MessageDelivered'],
      ['the loss of the sandbox', [sandboxLost], 'MessageTakenBack'],
      ['the loss, then delivered', [sandboxLost, delivered], 'MessageTakenBack'],
      ['an interrupt, then delivered', [interrupt, delivered, finish(1)], 'MessageDelivered'],
      ['an interrupt, then the end', [interrupt, finish(1, 'cancelled')], 'MessageTakenBack'],
      ['silence', [lose('silent')], 'MessageFailed'],
      ['silence, then delivered', [lose('silent'), delivered], 'MessageFailed'],
    ])('%s', (_order, then, fate) => {
      const events = told(...WANTED, ...then);
      const fates = events.filter(
        (e) =>
          (e.type === 'MessageDelivered' ||
            e.type === 'MessageTakenBack' ||
            e.type === 'MessageFailed') &&
          e.data.message_id === 'msg-2',
      );
      expect(types(fates)).toEqual([fate]);
      expect(waiting(events)).not.toContain('msg-2');
      expect(decided(events, steer('msg-2'))).toEqual([]);
    });

    it('the end of the session: its run has not said, so neither is claimed', () => {
      const remove = command('DeleteSession', { force: true, deleted_by: 'owner:ada' });
      const fates = told(...WANTED, remove).filter((e) => 'message_id' in e.data);
      expect(types(fates).slice(-1)).toEqual(['MessageFailed']);
      expect(types(fates)).not.toContain('MessageTakenBack');
    });

    it('one that came back before is taken back at once', () => {
      expect(types(decided(told(...STEERED, back), takeBack('msg-2')))).toEqual([
        'MessageTakenBack',
      ]);
    });
  });

  it('what another run says of it, or of one that was not offered to it, is quiet [M5]', () => {
    const past = told(...STEERED, send('msg-3', 0, 'queue'));
    for (const next of [deliver(2, 'msg-2'), returned('msg-2', 2), returned('msg-3')])
      expect(decided(past, next)).toEqual([]);
  });
});
