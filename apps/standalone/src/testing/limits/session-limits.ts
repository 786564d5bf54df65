import { expect, jest } from '@jest/globals';
import { RELEASE_DEADLINE_MINUTES } from '@hangar/contracts';
import { createTimeLimit } from '../../../../../libs/runs/src/time-limit.ts';
import { summed } from '../../../../../libs/runs/src/turn-text.ts';
import { handoffText } from '../../../../../libs/sessions/src/handoff.ts';
import type { SessionCommand } from '../../../../../libs/sessions/src/session.commands.ts';
import { decide } from '../../../../../libs/sessions/src/session.decider.ts';
import { restsSince } from '../../../../../libs/sessions/src/session.timers.ts';
import type { Session } from '../../../../../libs/sessions/src/session.ts';
import {
  STORIES,
  decided,
  finish,
  minute,
  sessionAfter,
  told,
} from '../../../../../libs/sessions/src/testing/stories.ts';
import {
  MOMENT_MINUTES,
  SETTINGS,
  bytes,
  later,
  minutesBetween,
  type LimitTests,
} from './bench.ts';

/** The clock's command does its work when its time has come, and nothing before. */
function comesAt(
  s: Session,
  since: string,
  minutes: number,
  command: Pick<SessionCommand, 'type' | 'data'>,
  type: string,
): void {
  const at = (after: number): string[] =>
    decide(s, { ...command, now: later(since, after) } as SessionCommand).map((e) => e.type);
  expect(at(minutes - MOMENT_MINUTES)).toEqual([]);
  expect(at(minutes)).toContain(type);
}

/** What a session does by itself, and how much it holds: its real log, judged by its own rules. */
export const sessionLimits: LimitTests = {
  idle_minutes: async (value, bench) => {
    const id = await bench.atRest();
    const s = await bench.state(id);
    expect(minutesBetween(restsSince(s), await bench.timer(id, 'idle'))).toBe(value);
    const data = { last_active_at: null, busy: false };
    comesAt(s, restsSince(s), value, { type: 'SuspendIfIdle', data }, 'SuspendRequested');
  },

  turn_minutes: async (value, bench) => {
    const id = await bench.atWork();
    const requested = (await bench.events(id)).find((event) => event.type === 'TurnRequested');
    jest.useFakeTimers();
    try {
      const onTimeOut = jest.fn();
      const limit = createTimeLimit(
        requested?.data.turn_minutes ?? NaN,
        () => new Date(),
        onTimeOut,
      );
      limit.follow({ asks: [], counts_from: null });
      jest.advanceTimersByTime(value * 60_000 - 1);
      expect(onTimeOut).not.toHaveBeenCalled();
      jest.advanceTimersByTime(1);
      expect(onTimeOut).toHaveBeenCalled();
    } finally {
      jest.useRealTimers();
    }
  },

  turn_grace_minutes: async (value, bench) => {
    const id = await bench.atWork();
    const { turns, turn_minutes } = await bench.state(id);
    const from = turns[0]?.counts_from ?? '';
    expect(minutesBetween(from, await bench.timer(id, 'turn'))).toBe(turn_minutes + value);
  },

  start_deadline_minutes: async (value, bench) => {
    bench.stack.spokes.held.add('SandboxRequested');
    const { id, created_at } = await bench.session();
    expect(minutesBetween(created_at, await bench.timer(id, 'start'))).toBe(value);
    const data = { start_deadline_minutes: SETTINGS.startDeadlineMinutes };
    const s = await bench.state(id);
    comesAt(s, created_at, value, { type: 'FailIfLate', data }, 'SessionFailed');
  },

  session_checkpoint_minutes: async (value, bench) => {
    const id = await bench.atRest();
    const s = await bench.state(id);
    const last = s.last_checkpoint_at;
    expect(minutesBetween(last, await bench.timer(id, 'interval'))).toBe(value);
    const data = { checkpoint_minutes: SETTINGS.sessionCheckpointMinutes };
    comesAt(s, last, value, { type: 'CheckpointIfDue', data }, 'CheckpointDue');
  },

  session_keep_checkpoints: async (value, bench) => {
    const id = await bench.atRest();
    const taken: number[] = [];
    for (let count = 0; count < value + 2; count += 1) {
      await bench.call(`POST /api/sessions/${id}/checkpoints?wait=20`, {});
      taken.push((await bench.get(id)).checkpoints.length);
    }
    expect(taken.slice(value - 1)).toEqual([value, value, value]);
  },

  checkpoint_deadline_minutes: async (value, bench) => {
    const id = await bench.atRest();
    bench.stack.spokes.held.add('CheckpointDue');
    await bench.call(`POST /api/sessions/${id}/checkpoints`, {});
    const { checkpointing } = await bench.state(id);
    expect(minutesBetween(checkpointing?.due_at ?? '', await bench.timer(id, 'checkpoint'))).toBe(
      value,
    );
  },

  release_deadline_minutes: async (value, bench) => {
    const id = await bench.atRest();
    bench.stack.spokes.held.add('SandboxReleaseRequested');
    await bench.call(`POST /api/sessions/${id}/suspend`, {});
    const due = await bench.timer(id, 'release');
    const s = await bench.state(id);
    const from = s.phase.state === 'SUSPENDING' ? (s.phase.release_requested_at ?? '') : '';
    expect(minutesBetween(from, due)).toBe(value);
    const data = { release_deadline_minutes: RELEASE_DEADLINE_MINUTES };
    comesAt(s, from, value, { type: 'SuspendIfReleaseLate', data }, 'SessionSuspended');
  },

  messages_queued: async (value, bench) => {
    bench.stack.spokes.held.add('SandboxRequested');
    const { id } = await bench.session();
    const send = async (): Promise<number> =>
      (await bench.call(`POST /api/sessions/${id}/send`, { message: 'wait' })).status;
    for (let count = 0; count < value; count += 1) expect(await send()).toBe(202);
    expect(await send()).toBe(429);
  },

  usage_limit_days: (value) => {
    const stopped = finish(1, 'failed');
    const until = (minutes: number): string[] => {
      const data = { ...stopped.data, resets_at: minute(minutes) };
      return decided(told(...STORIES['ACTIVE, running']), {
        ...stopped,
        data,
      } as SessionCommand).map(({ type }) => type);
    };
    expect(until(value * 24 * 60)).toContain('UsageLimitReached');
    expect(until(value * 24 * 60 + MOMENT_MINUTES)).not.toContain('UsageLimitReached');
  },

  summary_bytes: (value) => {
    expect(summed(bytes(value))).toBe(bytes(value));
    expect(summed(bytes(value + 1))).toMatch(/^é+ \[cut\]$/);
  },

  handoff_bytes: (value) => {
    const s = sessionAfter(told(...STORIES['IDLE, saved']));
    const [turn] = s.turns;
    if (!turn) throw new Error('no turn in this story');
    const length = (turns: number): number => {
      const many = Array.from({ length: turns }, () => ({ ...turn, summary: 'x'.repeat(1000) }));
      return Buffer.byteLength(handoffText({ ...s, turns: many }));
    };
    const one = length(2) - length(1);
    expect(length(1000)).toBeLessThanOrEqual(value);
    expect(length(1000)).toBeGreaterThan(value - one - 200);
  },
};
