import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Presence } from '@hangar/messaging';
import { activityObserver, type Activity } from './activity.ts';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
});
afterEach(() => {
  jest.useRealTimers();
});

const ref = { id: 'sbx-1', instance: 'a' };

function bench() {
  const calls: string[] = [];
  const closed = { is: false };
  const note = (what: string) => async (): Promise<void> => {
    if (closed.is) throw new Error('closed');
    calls.push(what);
  };
  const presence = { touch: note('touch'), hold: note('hold') } as unknown as Presence;
  const observe = activityObserver(presence);
  return {
    calls,
    closed,
    tell: (operation: Activity['operation'], phase: Activity['phase']) =>
      observe({ ref, operation, phase }),
    holds: () => calls.filter((each) => each === 'hold').length,
    minutes: (count: number) => jest.advanceTimersByTimeAsync(count * 60_000),
  };
}

describe('activity [X4]', () => {
  it('of files is the moment; of a terminal it is as long as it is open', async () => {
    const { tell, calls, holds, minutes } = bench();
    await tell('files', 'began');
    await tell('files', 'ended');
    expect(calls).toEqual(['touch', 'touch']);
    await tell('terminals', 'began');
    await minutes(10);
    expect(holds()).toBe(21);
    await tell('terminals', 'ended');
    await minutes(10);
    expect(holds()).toBe(21);
  });

  it('of two terminals ends with the second', async () => {
    const { tell, holds, minutes } = bench();
    await Promise.all([tell('terminals', 'began'), tell('exec', 'began')]);
    await tell('exec', 'ended');
    await minutes(1);
    expect(holds()).toBe(4);
    await tell('terminals', 'ended');
    await minutes(5);
    expect(holds()).toBe(4);
  });

  it('is refused while the sandbox is being suspended, and leaves nothing held', async () => {
    const { tell, closed, holds, minutes } = bench();
    closed.is = true;
    await expect(tell('exec', 'began')).rejects.toThrow('closed');
    closed.is = false;
    await minutes(5);
    expect(holds()).toBe(0);
  });
});
