import { describe, expect, it } from '@jest/globals';
import { given } from '@hangar/testing';
import {
  STORIES,
  attach,
  checkpointId,
  command,
  decided,
  decider,
  finish,
  lose,
  minute,
  record,
  sandboxId,
  send,
  sessionAfter,
  suspend,
  told,
} from './testing/stories.ts';

const types = (events: { type: string }[]): string[] => events.map((e) => e.type);
const miss = (number: number, error = 'no space left') =>
  command('MissCheckpoint', { checkpoint_id: checkpointId(number), reason: 'x', error });
const unchanged = (number: number, sameAs: number, reason: string) =>
  command('NoteUnchanged', {
    checkpoint_id: checkpointId(number),
    same_as: checkpointId(sameAs),
    reason,
    turn: 1,
  });
const lost = command('LoseSandbox', { sandbox_id: sandboxId(1), reason: 'host down' });
const interval = (minutes: number) =>
  command('CheckpointIfDue', { checkpoint_minutes: 10 }, minutes);

describe('suspend', () => {
  it('releases only after a checkpoint that is complete, and says which [X3]', () => {
    given(decider, ...told(...STORIES['SUSPENDING, saving']))
      .when(record(2, { reason: 'suspend' }))
      .thenState((s) => expect(s?.phase).toMatchObject({ state: 'SUSPENDING', step: 'release' }));
    const release = told(...STORIES['SUSPENDING, releasing']).at(-1);
    expect(release).toMatchObject({
      type: 'SandboxReleaseRequested',
      data: { force: false, checkpoint_id: checkpointId(2), sandbox_id: sandboxId(1) },
    });
  });

  it('an incomplete checkpoint keeps the sandbox and raises a card [X3]', () => {
    const skipped = [{ path: 'big.bin', reason: 'too large' }];
    given(decider, ...told(...STORIES['SUSPENDING, saving']))
      .when(record(2, { reason: 'suspend', complete: false, skipped }))
      .thenState((s) => {
        expect(s?.phase.state).toBe('IDLE');
        expect(s?.attention[0]).toMatchObject({ kind: 'limit', choices: ['suspend --force'] });
        expect(s?.state_reason).toContain('big.bin');
      });
  });

  it('with `force` it is released all the same, and the release names no checkpoint [X3]', () => {
    const events = told(...STORIES['IDLE, saved'], suspend(true), miss(2));
    expect(events.at(-1)).toMatchObject({
      type: 'SandboxReleaseRequested',
      data: { force: true },
    });
    expect(events.at(-1)?.data).not.toHaveProperty('checkpoint_id');
  });

  it('`force` while it is being saved counts from then on [X3]', () => {
    const events = told(...STORIES['SUSPENDING, saving'], suspend(true), miss(2));
    expect(types(events).at(-1)).toBe('SandboxReleaseRequested');
  });

  it('waits for the checkpoint that is going on, then takes its own [C2]', () => {
    const events = told(...STORIES['IDLE, a checkpoint is being taken'], suspend());
    given(decider, ...events)
      .when(record(1, { reason: 'manual' }))
      .thenState((s) => expect(s?.checkpointing?.reason).toBe('suspend'));
  });

  it('nothing changed since a complete checkpoint: that one makes the release safe [C2]', () => {
    const events = told(...STORIES['SUSPENDING, saving'], unchanged(2, 1, 'suspend'));
    expect(events.at(-1)).toMatchObject({ data: { checkpoint_id: checkpointId(1), force: false } });
  });

  it('a message that arrived meanwhile resumes it by itself [M1]', () => {
    const past = told(...STORIES['SUSPENDING, releasing'], send('msg-2'));
    given(decider, ...past)
      .when(command('FinishRelease', { sandbox_id: sandboxId(1), cause: 'asked' }))
      .thenState((s) => expect(s?.phase.state).toBe('RESUMING'));
  });

  it('a sandbox that never confirms its end is not waited for for ever [S2]', () => {
    const late = (minutes: number) =>
      command('SuspendIfReleaseLate', { release_deadline_minutes: 15 }, minutes);
    const past = told(...STORIES['SUSPENDING, releasing']);
    expect(decided(past, late(14))).toEqual([]);
    given(decider, ...past)
      .when(late(15))
      .thenState((s) => {
        expect(s?.phase.state).toBe('SUSPENDED');
        expect(s?.state_reason).toContain('sbx-1a2b3c4d-1 has not confirmed its end');
      });
  });
});

describe('suspend of an INTERRUPTED session', () => {
  const suspending = [...STORIES.INTERRUPTED, suspend()];
  const gone = command('FinishRelease', { sandbox_id: sandboxId(1), cause: 'asked' });

  it('saves what the cut turn left before the sandbox goes [X3] [C2]', () => {
    const s = sessionAfter(told(...suspending));
    expect(s.phase).toMatchObject({ state: 'SUSPENDING', step: 'checkpoint', interrupted_turn: 1 });
    expect(s.checkpointing?.reason).toBe('suspend');
  });

  it('still waits for the decision when the sandbox is gone [S3]', () => {
    given(decider, ...told(...suspending, record(2, { reason: 'suspend' })))
      .when(gone)
      .thenState((s) => {
        expect(s?.phase).toMatchObject({ state: 'INTERRUPTED', sandbox: null, turn: 1 });
        expect(s?.attention.map((c) => c.kind)).toEqual(['interrupted']);
      });
  });

  it('keeps the sandbox when it cannot be saved whole, and is INTERRUPTED as before [X3]', () => {
    given(decider, ...told(...suspending))
      .when(miss(2))
      .thenState((s) => {
        expect(s?.phase).toMatchObject({ state: 'INTERRUPTED', turn: 1 });
        expect(s?.phase).toMatchObject({ sandbox: { id: sandboxId(1) } });
        expect(s?.attention.map((c) => c.kind).sort()).toEqual(['interrupted', 'limit']);
      });
  });

  it('an older complete checkpoint does not make it safe [X3]', () => {
    const past = told(...STORIES['ACTIVE, running'], interval(20));
    const cut = told(
      ...STORIES['ACTIVE, running'],
      interval(20),
      record(1, { reason: 'interval', turn: 0 }),
      lose('vanished'),
      miss(2),
      suspend(),
    );
    expect(types(past).at(-1)).toBe('CheckpointDue');
    expect(types(cut).slice(-2)).toEqual(['SuspendRequested', 'CheckpointDue']);
  });
});

describe('the checkpoint of a turn’s end', () => {
  it('follows one that was going on when the turn ended [C2]', () => {
    const past = told(...STORIES['ACTIVE, running'], interval(20), finish(1));
    given(decider, ...past)
      .when(record(1, { reason: 'interval', turn: 0 }))
      .thenState((s) => expect(s?.checkpointing).toMatchObject({ reason: 'turn' }));
  });

  it('a failed one is a warning on the session, never a silent skip [C3]', () => {
    given(decider, ...told(...STORIES['ACTIVE, ended']))
      .when(miss(1))
      .thenState((s) => {
        expect(s?.phase.state).toBe('IDLE');
        expect(s?.checkpoints).toEqual([]);
        expect(s?.attention[0]).toMatchObject({ kind: 'limit' });
      });
  });

  it('has its outcome also when the sandbox went away first', () => {
    const events = told(...STORIES['ACTIVE, running'], interval(20), finish(1), lost);
    const missed = events.filter((e) => e.type === 'CheckpointMissed');
    expect(missed.map((e) => e.data.reason)).toEqual(['interval', 'turn']);
  });

  it('one of mid-turn does not count as the turn’s end [R1]', () => {
    const due = told(...STORIES['ACTIVE, running'], interval(20)).at(-1);
    expect(due).toMatchObject({ type: 'CheckpointDue', data: { turn: 0, reason: 'interval' } });
  });
});

describe('a checkpoint that came late', () => {
  it('after its sandbox went away is work that was saved: it is kept', () => {
    const past = told(...STORIES['ACTIVE, ended'], lost);
    given(decider, ...past)
      .when(record(1))
      .thenState((s) => {
        expect(s?.checkpoints.map((c) => c.id)).toEqual([checkpointId(1)]);
        expect(s?.attention).toEqual([]);
      });
  });

  it('is what the next resume restores', () => {
    const events = told(
      ...STORIES['ACTIVE, ended'],
      lost,
      command('OpenSession', {}),
      record(1),
      attach(2),
    );
    expect(events.at(-1)).toMatchObject({
      type: 'RestoreRequested',
      data: { checkpoint_id: checkpointId(1), epoch: 2 },
    });
  });

  it('of an older sandbox than the one attached changes nothing, and its blobs go [M5]', () => {
    const past = told(...STORIES['ACTIVE, ended'], lost, command('OpenSession', {}), attach(2));
    expect(decided(past, record(1))).toEqual([
      {
        type: 'CheckpointsDropped',
        data: { session_id: 'ses-1a2b3c4d', checkpoint_ids: [checkpointId(1)], reason: 'late' },
      },
    ]);
  });

  it('does not take the place of a later one', () => {
    const past = told(
      ...STORIES['ACTIVE, ended'],
      miss(1),
      command('TakeCheckpoint', {}),
      record(2, { reason: 'manual' }),
    );
    given(decider, ...past)
      .when(record(1))
      .thenState((s) => expect(s?.checkpoints.map((c) => c.id)).toEqual([checkpointId(2)]));
  });

  it('does not end the one that is being taken', () => {
    const past = told(...STORIES['ACTIVE, ended'], miss(1), command('TakeCheckpoint', {}));
    given(decider, ...past)
      .when(record(1))
      .thenState((s) => expect(s?.checkpointing?.id).toBe(checkpointId(2)));
  });
});

describe('the card about work that cannot be saved', () => {
  const limited = told(...STORIES['ACTIVE, ended'], miss(1));

  it('is one card however often it fails', () => {
    const past = [
      ...STORIES['ACTIVE, ended'],
      miss(1),
      interval(20),
      miss(2),
      interval(40),
      miss(3),
    ];
    expect(sessionAfter(told(...past)).attention).toHaveLength(1);
  });

  it('keeps the idle clock from suspending [X3]', () => {
    const idle = command('SuspendIfIdle', { last_active_at: null, busy: false }, 500);
    expect(decided(limited, idle)).toEqual([]);
  });

  it('goes with a complete checkpoint', () => {
    const past = told(...STORIES['ACTIVE, ended'], miss(1), interval(20));
    given(decider, ...past)
      .when(record(2, { reason: 'interval' }))
      .thenState((s) => expect(s?.attention).toEqual([]));
  });

  it('goes when a complete one is found still good', () => {
    const past = [...STORIES['IDLE, saved'], interval(20), miss(2), interval(40)];
    given(decider, ...told(...past))
      .when(unchanged(3, 1, 'interval'))
      .thenState((s) => expect(s?.attention).toEqual([]));
  });

  it('goes with the sandbox it is about', () => {
    const past = told(...STORIES['ACTIVE, ended'], miss(1), lost);
    expect(sessionAfter(past).attention.map((c) => c.kind)).toEqual(['lost_state']);
  });
});

describe('pruning [C5]', () => {
  const due = (n: number) => [interval(n * 20), record(n, { reason: 'interval' }, n * 20)];

  it('keeps the newest ones', () => {
    const s = sessionAfter(told(...STORIES['IDLE, saved'], ...due(2), ...due(3), ...due(4)));
    expect(s.checkpoints.map((c) => c.id)).toEqual([1, 3, 4].map(checkpointId));
  });

  it('never drops the newest complete one', () => {
    const incomplete = (n: number) => [
      interval(n * 20),
      record(n, { reason: 'interval', complete: false }, n * 20),
    ];
    const s = sessionAfter(
      told(
        ...STORIES['IDLE, saved'],
        ...due(2),
        ...incomplete(3),
        ...incomplete(4),
        ...incomplete(5),
      ),
    );
    expect(s.checkpoints.map((c) => c.id)).toEqual([1, 2, 4, 5].map(checkpointId));
  });

  it('never drops the one that was found still good at the newest turn’s end', () => {
    const s = sessionAfter(
      told(
        ...STORIES['IDLE, saved'],
        ...due(2),
        send('msg-2'),
        finish(2),
        command('NoteUnchanged', {
          checkpoint_id: checkpointId(3),
          same_as: checkpointId(2),
          reason: 'turn',
          turn: 2,
        }),
        ...due(4),
        ...due(5),
      ),
    );
    expect(s.checkpoints.map((c) => c.id)).toContain(checkpointId(2));
  });
});

describe('the interval clock [C2]', () => {
  it.each([
    [9, 0],
    [10, 1],
  ])('after %i minutes asks for %i checkpoints', (minutes, count) => {
    const past = told(...STORIES['IDLE, saved']);
    const events = told(...STORIES['IDLE, saved'], interval(minutes));
    expect(events.length - past.length).toBe(count);
  });

  it('never goes back when a late one is recorded', () => {
    const past = [
      ...STORIES['ACTIVE, ended'],
      command(
        'MissCheckpoint',
        { checkpoint_id: checkpointId(1), reason: 'turn', error: 'late' },
        60,
      ),
    ];
    const s = sessionAfter(told(...past, record(1, {}, 5)));
    expect(s.last_checkpoint_at).toBe(minute(60));
  });
});

describe('the end of a session', () => {
  it.each([
    ['archived', command('ArchiveSession', {})],
    ['deleted', command('DeleteSession', { force: false, deleted_by: 'token:t1' })],
  ])(
    'drops the checkpoint being taken too: what is stored later has to go (%s) [S6]',
    (reason, end) => {
      const past = told(...STORIES['IDLE, saved'], command('TakeCheckpoint', {}));
      const dropped = decided(past, end).find((event) => event.type === 'CheckpointsDropped');
      expect(dropped?.data).toMatchObject({
        checkpoint_ids: [checkpointId(1), checkpointId(2)],
        reason,
      });
    },
  );
});
