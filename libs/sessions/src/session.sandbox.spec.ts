import { describe, expect, it } from '@jest/globals';
import { given } from '@hangar/testing';
import {
  STORIES,
  attach,
  checkpointId,
  command,
  create,
  decided,
  decider,
  finish,
  lose,
  minute,
  record,
  restored,
  runId,
  sandboxId,
  send,
  sessionAfter,
  suspend,
  told,
} from './testing/stories.ts';

const types = (events: { type: string }[]): string[] => events.map((e) => e.type);
const lost = (epoch: number, reason = 'host down') =>
  command('LoseSandbox', { sandbox_id: sandboxId(epoch), reason });
const late = (minutes: number) => command('FailIfLate', { start_deadline_minutes: 15 }, minutes);
const expiring = (busy = false) => command('KeepOrSuspend', { sandbox_id: sandboxId(1), busy });
const worse = (number: number) =>
  command('TryOlderCheckpoint', {
    checkpoint_id: checkpointId(number),
    epoch: 2,
    error: 'corrupt',
  });

describe('while a sandbox starts', () => {
  it('the start deadline makes it FAILED with the last phase as reason [S4]', () => {
    const phase = command('NoteStartPhase', {
      sandbox_id: sandboxId(1),
      phase: 'pulling',
      text: 'pulling the image',
    });
    const past = told(create, phase);
    expect(decided(past, late(14))).toEqual([]);
    given(decider, ...past)
      .when(late(15))
      .thenState((s) => {
        expect(s?.phase.state).toBe('FAILED');
        expect(s?.state_reason).toContain('the last phase was: pulling the image');
      });
  });

  it('`open` tries again with a sandbox of a new epoch [S4] [M5]', () => {
    const events = told(...STORIES.FAILED, command('OpenSession', {}));
    expect(events.at(-1)).toMatchObject({
      type: 'SandboxRequested',
      data: { sandbox_id: sandboxId(2), epoch: 2, purpose: 'start' },
    });
  });

  it('what an older sandbox says is quiet [M5]', () => {
    const past = told(...STORIES.FAILED, command('OpenSession', {}));
    expect(decided(past, attach(1))).toEqual([]);
    expect(decided(past, lost(1))).toEqual([]);
  });

  it('opened many times, it is one sandbox [R6]', () => {
    const open = command('OpenSession', {});
    const events = told(...STORIES.SUSPENDED, open, open, open);
    expect(types(events).filter((t) => t === 'SandboxRequested')).toHaveLength(2);
  });
});

describe('a resume', () => {
  it('tells with the sandbox that a restore follows, and a start tells nothing of it', () => {
    const [start, resume] = told(...STORIES['RESUMING, restoring']).flatMap((event) =>
      event.type === 'SandboxRequested' ? [event.data] : [],
    );
    expect(start).toMatchObject({ purpose: 'start' });
    expect(start).not.toHaveProperty('has_checkpoint');
    expect(resume).toMatchObject({ purpose: 'resume', has_checkpoint: true });
  });

  it('tries the older checkpoints in turn, and keeps all when none can be restored [R1]', () => {
    const past = STORIES['RESUMING, restoring'];
    expect(told(...past, worse(2)).at(-1)).toMatchObject({
      type: 'RestoreRequested',
      data: { checkpoint_id: checkpointId(1), attempt: 1 },
    });
    const s = sessionAfter(told(...past, worse(2), worse(1)));
    expect(s.phase.state).toBe('FAILED');
    expect(s.state_reason).toContain('all are kept');
    expect(s.checkpoints).toHaveLength(2);
  });

  it('from an older one says so: a card, a loss, and a line for the agent [R2]', () => {
    const past = [...STORIES['RESUMING, restoring'], worse(2), restored(1, 2)];
    const s = sessionAfter(told(...past));
    expect(s.continuity?.losses[0]?.reason).toContain('ckp-1a2b3c4d-2');
    expect(s.attention.map((c) => c.kind)).toEqual(['lost_state']);
    expect(s.notes.join()).toContain('could not be restored');
  });

  it('counts the turns that are newer than what was restored [R1]', () => {
    const past = [
      ...STORIES['IDLE, saved'],
      send('msg-2'),
      finish(2),
      command('MissCheckpoint', { checkpoint_id: checkpointId(2), reason: 'turn', error: 'full' }),
      lost(1),
      command('OpenSession', {}),
      attach(2),
    ];
    const resumed = told(...past, restored(1, 2)).findLast((e) => e.type === 'SessionResumed');
    expect(resumed?.data).toMatchObject({ turns_older: 1, checkpoint_id: checkpointId(1) });
  });

  it('without any checkpoint is never a silent empty environment [R2]', () => {
    const past = [...STORIES['INTERRUPTED, sandbox gone'], command('ContinueSession', {})];
    const s = sessionAfter(told(...past, attach(2)));
    expect(s.continuity?.commits.state).toBe('lost');
    expect(s.attention.map((c) => c.kind)).toContain('lost_state');
  });

  it('does not take "unchanged" for a checkpoint that could not be restored', () => {
    const past = [...STORIES['RESUMING, restoring'], worse(2), restored(1, 2), suspend()];
    const due = told(...past).findLast((e) => e.type === 'CheckpointDue');
    expect(due?.data).not.toHaveProperty('unless_fingerprint');
  });

  it('a result of an older epoch, or twice, is quiet [M5]', () => {
    const past = STORIES['RESUMING, restoring'];
    expect(decided(told(...past), restored(2, 1))).toEqual([]);
    expect(decided(told(...past, restored(2, 2)), restored(2, 2))).toEqual([]);
  });

  it('the losses are said once to the agent, and the card goes when it has them [R2]', () => {
    const past = [
      ...STORIES['RESUMING, restoring'],
      restored(2, 2, [{ path: 'big.bin', reason: 'too large' }]),
      send('msg-2'),
    ];
    const turn = told(...past).at(-1);
    expect(turn?.data).toMatchObject({ notes: 'big.bin: too large' });
    const had = command('NoteDelivery', { run_id: runId(2), turn: 2, message_id: 'msg-2' });
    const s = sessionAfter(told(...past, had));
    expect([s.notes, s.attention]).toEqual([[], []]);
  });
});

describe('a sandbox that went away', () => {
  it('in mid-turn: INTERRUPTED, and a person decides [S3]', () => {
    const s = sessionAfter(told(...STORIES['ACTIVE, running'], lost(1)));
    expect(s.phase).toMatchObject({ state: 'INTERRUPTED', sandbox: null });
    expect(s.turns[0]).toMatchObject({ outcome: 'interrupted', error: 'host down' });
  });

  it('while a cut turn was being saved: INTERRUPTED too, not resumed over its head [S3]', () => {
    const s = sessionAfter(
      told(...STORIES['ACTIVE, running'], send('msg-2'), lose('vanished'), lost(1)),
    );
    expect(s.phase.state).toBe('INTERRUPTED');
    expect(s.queue.map((m) => m.message_id)).toEqual(['msg-2']);
  });

  it('at rest: SUSPENDED, and a card says what is safe', () => {
    const s = sessionAfter(told(...STORIES['IDLE, saved'], lost(1)));
    expect(s.phase.state).toBe('SUSPENDED');
    expect(s.attention[0]?.text).toContain('work up to checkpoint ckp-1a2b3c4d-1');
  });

  it('while it waits for a decision is let go of, and the decision still waits', () => {
    const events = told(...STORIES.INTERRUPTED, lost(1));
    expect(types(events)).toContain('SandboxReleased');
    expect(sessionAfter(events).phase).toMatchObject({ state: 'INTERRUPTED', sandbox: null });
  });

  it('after its work was saved for a suspend: SUSPENDED, and nothing was lost', () => {
    const s = sessionAfter(told(...STORIES['SUSPENDING, releasing'], lost(1)));
    expect(s.phase.state).toBe('SUSPENDED');
    expect(s.attention).toEqual([]);
  });
});

describe('a run that gave no word', () => {
  it('is told to stop before another can start [M5]', () => {
    const events = told(...STORIES['ACTIVE, running'], lose('silent'));
    expect(types(events).slice(-3)).toEqual([
      'TurnCancelRequested',
      'TurnFinished',
      'CheckpointDue',
    ]);
  });

  it('what it left is saved before the person decides [C2]', () => {
    const s = sessionAfter(told(...STORIES['ACTIVE, running'], lose('silent'), record(1)));
    expect(s.phase).toMatchObject({ state: 'INTERRUPTED', sandbox: { id: sandboxId(1) } });
    expect(s.turns[0]?.checkpoint_id).toBe(checkpointId(1));
  });

  it('a late result of a cut turn is refused [M5]', () => {
    const past = told(...STORIES['ACTIVE, running'], lose('silent'), record(1));
    expect(decided(past, finish(1))).toEqual([]);
    const next = told(
      ...STORIES['ACTIVE, running'],
      lose('silent'),
      record(1),
      command('RetryTurn', {}),
    );
    expect(decided(next, finish(1))).toEqual([]);
  });
});

describe('the end of a sandbox’s lifetime [X5]', () => {
  it('at rest: its work is saved, then it is released', () => {
    expect(types(told(...STORIES['IDLE, saved'], expiring())).slice(-2)).toEqual([
      'SuspendRequested',
      'CheckpointDue',
    ]);
  });

  it.each(['IDLE, saved', 'INTERRUPTED'] as const)('%s, with somebody in it: kept [X4]', (name) => {
    expect(told(...STORIES[name], expiring(true)).at(-1)).toMatchObject({
      type: 'SandboxKeepRequested',
      data: { reason: 'somebody is at work in it' },
    });
  });

  it('whose place is wanted suspends for that reason; at work or kept up it stays [X6]', () => {
    const reason = 'another session waits for its place';
    const wanted = command('KeepOrSuspend', { sandbox_id: sandboxId(1), reason });
    expect(decided(told(...STORIES['IDLE, saved']), wanted)).toMatchObject([
      { type: 'SuspendRequested', data: { reason, force: false } },
      { type: 'CheckpointDue' },
    ]);
    const keptUp = command('KeepSession', { idle_minutes: 0 });
    for (const past of [STORIES['ACTIVE, running'], [...STORIES['IDLE, saved'], keptUp]])
      expect(decided(told(...past), wanted)).toMatchObject([{ type: 'SandboxKeepRequested' }]);
  });

  it('that could not be saved says that it stays: another may be asked [X6]', () => {
    const skipped = [{ path: 'big', reason: 'size' }];
    const saved = record(2, { reason: 'suspend', complete: false, skipped });
    const past = told(...STORIES['IDLE, saved'], expiring());
    expect(decided(past, saved).map((e) => e.type)).toEqual(
      expect.arrayContaining(['SuspendAborted', 'SandboxKeepRequested']),
    );
  });

  it('one that no session holds any more is released; one of a later epoch is left alone', () => {
    const past = [...STORIES['RESUMING, restoring']];
    expect(told(...past, expiring()).at(-1)).toMatchObject({
      type: 'SandboxReleaseRequested',
      data: { sandbox_id: sandboxId(1), cause: 'orphan' },
    });
    expect(decided(told(...past), command('KeepOrSuspend', { sandbox_id: sandboxId(9) }))).toEqual(
      [],
    );
  });
});

describe('rest', () => {
  const idle = (minutes: number, last_active_at: string | null = null, busy = false) =>
    command('SuspendIfIdle', { last_active_at, busy }, minutes);

  it.each([
    ['before idle_minutes', idle(29), false],
    ['after idle_minutes', idle(30), true],
    ['busy: an open terminal counts [X4]', idle(300, null, true), false],
    ['files were used 10 minutes ago [X4]', idle(40, minute(30)), false],
    ['files were used 30 minutes ago', idle(60, minute(30)), true],
  ])('%s', (_name, tick, isSuspended) => {
    const s = sessionAfter(told(...STORIES['IDLE, saved'], tick));
    expect(s.phase.state).toBe(isSuspended ? 'SUSPENDING' : 'IDLE');
  });

  it('idle_minutes 0 is never suspended by itself', () => {
    const keep = command('KeepSession', { idle_minutes: 0 });
    expect(decided(told(...STORIES['IDLE, saved'], keep), idle(9999))).toEqual([]);
  });
});

describe('an ending', () => {
  const archive = command('ArchiveSession', {});

  it('gives every waiting message and every open card its end [S6] [M4]', () => {
    const events = told(...STORIES.INTERRUPTED, send('msg-2'), archive);
    const end = events.slice(told(...STORIES.INTERRUPTED, send('msg-2')).length);
    expect(types(end)).toEqual([
      'MessageFailed',
      'AttentionCleared',
      'SandboxReleaseRequested',
      'CheckpointsDropped',
      'SessionArchived',
    ]);
  });

  it('a working agent is never killed by it', () => {
    const past = told(...STORIES['ACTIVE, running']);
    expect(
      given(decider, ...past)
        .when(archive)
        .thenRefuses('conflict').hint,
    ).toContain('interrupt');
  });

  it('a checkpoint that comes after it is dropped, so that its blobs go', () => {
    const past = told(...STORIES['IDLE, a checkpoint is being taken'], archive);
    expect(decided(past, record(1))).toEqual([
      {
        type: 'CheckpointsDropped',
        data: { session_id: 'ses-1a2b3c4d', checkpoint_ids: [checkpointId(1)], reason: 'late' },
      },
    ]);
  });
});
