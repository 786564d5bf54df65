import { describe, expect, it } from '@jest/globals';
import type { ActivityItem } from '@hangar/contracts';
import type { Caller } from '../auth/caller.ts';
import type { SessionRows } from '../sessions/session.document.ts';
import { PROGRESS_MS_MIN, PROGRESS_QUIET_MS_MAX, ProgressTeller } from './progress.ts';

const rows = (state: string, phase: string | null = null): SessionRows =>
  ({
    session: { id: 'ses-00000001', state, start_phase: phase },
    turns: [],
  }) as unknown as SessionRows;

function bench() {
  const items: Partial<ActivityItem>[] = [];
  const told: string[] = [];
  const clock = { now: 0 };
  let allowed = true;
  const after = (cursor = '0'): number => Number(cursor);
  const teller = new ProgressTeller({
    caller: { stillAllowed: () => Promise.resolve(allowed) } as unknown as Caller,
    activity: {
      head: () => Promise.resolve(String(items.length)),
      list: (_caller, _ref, query) =>
        Promise.resolve({
          items: items.slice(after(query.after)).map((item, index) => ({
            ...(item as ActivityItem),
            cursor: String(after(query.after) + index + 1),
          })),
          next_cursor: null,
        }),
    },
    tell: ({ progress, message }) => {
      told.push(`${progress} ${message}`);
      return Promise.resolve();
    },
    now: () => clock.now,
  });
  const revoke = (): void => {
    allowed = false;
  };
  return { items, told, clock, teller, revoke };
}

describe('progress of a call that waits [U4]', () => {
  it('tells where the session is, and then what its agent does', async () => {
    const { items, told, clock, teller } = bench();
    items.push({ type: 'message', text: 'before the call' });
    await teller.look(rows('RESUMING', 'restoring'));
    items.push(
      { type: 'tool_started', tool: 'Bash', input: 'ls' },
      { type: 'tool_finished', output: 'long' },
      { type: 'message', text: 'two\nlines' },
    );
    clock.now += PROGRESS_MS_MIN;
    await teller.look(rows('ACTIVE'));
    expect(told).toEqual(['1 RESUMING: restoring', '2 ACTIVE\nBash ls\nsays: two lines']);
  });

  it('keeps to its rate, and says at times that it still waits', async () => {
    const { told, clock, teller } = bench();
    await teller.look(rows('ACTIVE'));
    clock.now += PROGRESS_MS_MIN - 1;
    await teller.look(rows('IDLE'));
    expect(told).toHaveLength(1);
    clock.now += 1;
    await teller.look(rows('ACTIVE'));
    expect(told).toHaveLength(1);
    clock.now = PROGRESS_QUIET_MS_MAX;
    await teller.look(rows('ACTIVE'));
    expect(told).toEqual(['1 ACTIVE', '2 ACTIVE']);
  });

  it('tells the newest of much, cut', async () => {
    const { items, told, teller, clock } = bench();
    await teller.look(rows('ACTIVE'));
    for (let n = 1; n <= 20; n += 1)
      items.push({ type: 'message', text: `${n} ${'x'.repeat(999)}` });
    clock.now += PROGRESS_MS_MIN;
    await teller.look(rows('ACTIVE'));
    const lines = told[1]?.split('\n') ?? [];
    expect(lines).toHaveLength(6);
    expect(lines[5]).toMatch(/^says: 20 x+ \[cut, \d+ characters more\]$/);
  });

  it('tells nothing to whose token was revoked, nor of what was deleted [Z1]', async () => {
    const { told, teller, revoke } = bench();
    await teller.look(null);
    revoke();
    await teller.look(rows('ACTIVE'));
    expect(told).toEqual([]);
  });
});
