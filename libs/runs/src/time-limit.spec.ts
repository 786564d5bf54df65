import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createTimeLimit } from './time-limit.ts';

const MINUTE_MS = 60_000;
const START = '2030-01-01T12:00:00.000Z';
const at = (minutes: number): string =>
  new Date(Date.parse(START) + minutes * MINUTE_MS).toISOString();

beforeEach(() => {
  jest.useFakeTimers({ now: Date.parse(START) });
});
afterEach(() => {
  jest.useRealTimers();
});

const OPEN = [{ id: 'a', open: true, answer: null }];
const CLOSED = [{ id: 'a', open: false, answer: null }];

function limited() {
  const ended = jest.fn();
  return { ended, limit: createTimeLimit(60, () => new Date(), ended) };
}

describe('the time limit of a turn [M7]', () => {
  it('counts from the start of its process, also over a restart of the service [M6]', () => {
    const { limit, ended } = limited();
    limit.follow({ asks: [], counts_from: at(-59) });
    jest.advanceTimersByTime(MINUTE_MS - 1);
    expect(ended).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(ended).toHaveBeenCalledTimes(1);
  });

  it('counts from its own beginning before the process has started', () => {
    const { limit, ended } = limited();
    limit.follow({ asks: [], counts_from: null });
    jest.advanceTimersByTime(60 * MINUTE_MS);
    expect(ended).toHaveBeenCalledTimes(1);
  });

  it('is over at once where it was over before', () => {
    const { limit, ended } = limited();
    limit.follow({ asks: [], counts_from: at(-60) });
    expect(ended).toHaveBeenCalledTimes(1);
  });

  it('does not count while a person is waited for, for days and over a restart [A2]', () => {
    const { limit, ended } = limited();
    limit.follow({ asks: [], counts_from: START });
    limit.follow({ asks: OPEN, counts_from: START });
    jest.advanceTimersByTime(3 * 24 * 60 * MINUTE_MS);
    const again = limited();
    again.limit.follow({ asks: OPEN, counts_from: START });
    jest.advanceTimersByTime(60 * MINUTE_MS);
    expect(ended).not.toHaveBeenCalled();
    expect(again.ended).not.toHaveBeenCalled();
  });

  it('counts on from the end of the waiting, wherever that is read', () => {
    const { limit, ended } = limited();
    limit.follow({ asks: OPEN, counts_from: START });
    jest.advanceTimersByTime(100 * MINUTE_MS);
    limit.follow({ asks: CLOSED, counts_from: at(90) });
    jest.advanceTimersByTime(50 * MINUTE_MS - 1);
    expect(ended).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(ended).toHaveBeenCalledTimes(1);
  });

  it('ends with its turn', () => {
    const { limit, ended } = limited();
    limit.follow({ asks: [], counts_from: START });
    limit.end();
    jest.advanceTimersByTime(61 * MINUTE_MS);
    expect(ended).not.toHaveBeenCalled();
  });
});
