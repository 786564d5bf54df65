/** Time that only moves when a test says so. */
export interface FakeClock {
  now(): Date;
  advance(ms: number): void;
}

export function createFakeClock(start = '2030-01-01T00:00:00.000Z'): FakeClock {
  let nowMs = Date.parse(start);
  return {
    now: () => new Date(nowMs),
    advance: (ms) => {
      nowMs += ms;
    },
  };
}
