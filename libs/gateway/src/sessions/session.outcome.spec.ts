import { describe, expect, it } from '@jest/globals';
import type { SessionRows } from './session.document.ts';
import * as outcome from './session.outcome.ts';

const MESSAGE = 'msg-00000001';

interface Sketch {
  version?: number;
  checkpointing?: string | null;
  message?: { status: string; turn?: number };
  /** The turn of a card that waits on an answer. */
  asks?: number;
  turns?: { number: number; finished: boolean; message_id?: string }[];
}

const rows = (state: string, sketch: Sketch = {}): SessionRows =>
  ({
    session: { state, version: sketch.version ?? 9, checkpointing: sketch.checkpointing ?? null },
    turns: (sketch.turns ?? []).map(({ number, finished, message_id = 'other' }) => ({
      number,
      message_id,
      finished_at: finished ? new Date(0) : null,
    })),
    messages: sketch.message
      ? [{ message_id: MESSAGE, status: sketch.message.status, turn: sketch.message.turn ?? null }]
      : [],
    checkpoints: [],
    cards: sketch.asks === undefined ? [] : [{ asked: {}, turn: sketch.asks }],
  }) as unknown as SessionRows;

const own = (finished: boolean) => [{ number: 2, finished, message_id: MESSAGE }];

describe('what a call with ?wait waits for', () => {
  it.each<[string, outcome.Outcome, SessionRows | null, boolean]>([
    ['open: still starting', outcome.started(9), rows('STARTING'), false],
    ['open: ready', outcome.started(9), rows('IDLE'), true],
    ['open: failed', outcome.started(9), rows('FAILED'), true],
    ['open: the read model is behind', outcome.started(9), rows('IDLE', { version: 8 }), false],
    ['open: deleted meanwhile', outcome.started(9), null, true],
    ['suspend: being saved', outcome.suspended(9), rows('SUSPENDING'), false],
    ['suspend: done', outcome.suspended(9), rows('SUSPENDED'), true],
    ['suspend: aborted', outcome.suspended(9), rows('IDLE'), true],
    ['suspend: aborted for a turn', outcome.suspended(9), rows('ACTIVE'), true],
    [
      'suspend: the turn ends on its question first',
      outcome.suspended(9),
      rows('ACTIVE', { asks: 2, turns: own(false) }),
      false,
    ],
    ['suspend: with its card open', outcome.suspended(9), rows('SUSPENDED', { asks: 2 }), true],
    ['answer: at work', outcome.answeredCard(9), rows('ACTIVE', { turns: own(false) }), false],
    [
      'answer: the turn asks again',
      outcome.answeredCard(9),
      rows('ACTIVE', { turns: own(false), asks: 2 }),
      true,
    ],
    [
      'answer: another card of the turn before is open',
      outcome.answeredCard(9),
      rows('RESUMING', { turns: own(true), asks: 2 }),
      false,
    ],
    ['answer: at rest', outcome.answeredCard(9), rows('IDLE', { turns: own(true) }), true],
    [
      'send: the agent asks',
      outcome.answered(9, MESSAGE),
      rows('ACTIVE', { turns: own(false), asks: 2 }),
      true,
    ],
    [
      'send: a turn before it was suspended on its question, which is still open',
      outcome.answered(9, MESSAGE),
      rows('RESUMING', {
        message: { status: 'queued' },
        turns: [{ number: 1, finished: true }],
        asks: 1,
      }),
      false,
    ],
    [
      'send: queued',
      outcome.answered(9, MESSAGE),
      rows('ACTIVE', { message: { status: 'queued' } }),
      false,
    ],
    [
      'send: its turn runs',
      outcome.answered(9, MESSAGE),
      rows('ACTIVE', { turns: own(false) }),
      false,
    ],
    [
      'send: its turn is over, the checkpoint is being taken',
      outcome.answered(9, MESSAGE),
      rows('ACTIVE', { turns: own(true), message: { status: 'delivered', turn: 2 } }),
      false,
    ],
    [
      'send: over and saved',
      outcome.answered(9, MESSAGE),
      rows('IDLE', { turns: own(true) }),
      true,
    ],
    [
      'send: the next turn runs already',
      outcome.answered(9, MESSAGE),
      rows('ACTIVE', { turns: [...own(true), { number: 3, finished: false }] }),
      true,
    ],
    [
      'send: steered into a turn of another message',
      outcome.answered(9, MESSAGE),
      rows('ACTIVE', {
        message: { status: 'delivered', turn: 1 },
        turns: [{ number: 1, finished: false }],
      }),
      false,
    ],
    [
      'send: taken back',
      outcome.answered(9, MESSAGE),
      rows('ACTIVE', { message: { status: 'taken_back' } }),
      true,
    ],
    [
      'send: failed',
      outcome.answered(9, MESSAGE),
      rows('IDLE', { message: { status: 'failed' } }),
      true,
    ],
    [
      'send: waits on a person',
      outcome.answered(9, MESSAGE),
      rows('INTERRUPTED', { message: { status: 'queued' } }),
      true,
    ],
    ['interrupt: stopping', outcome.turnOver(9, 2), rows('ACTIVE', { turns: own(false) }), false],
    [
      'interrupt: stopped and saved',
      outcome.turnOver(9, 2),
      rows('IDLE', { turns: own(true) }),
      true,
    ],
    ['retry: at work', outcome.atRest(9), rows('ACTIVE'), false],
    ['retry: resuming', outcome.atRest(9), rows('RESUMING'), false],
    ['retry: at rest', outcome.atRest(9), rows('IDLE'), true],
    [
      'checkpoint: being taken',
      outcome.checkpointSettled(9, 'c'),
      rows('IDLE', { checkpointing: 'c' }),
      false,
    ],
    ['checkpoint: settled', outcome.checkpointSettled(9, 'c'), rows('IDLE'), true],
    [
      'checkpoint: another is taken now',
      outcome.checkpointSettled(9, 'c'),
      rows('IDLE', { checkpointing: 'd' }),
      true,
    ],
  ])('%s', (_, wanted, found, isReached) => {
    expect(wanted(found)).toBe(isReached);
  });
});
