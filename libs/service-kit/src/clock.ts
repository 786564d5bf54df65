import { setTimeout as delay } from 'node:timers/promises';

/** Time as an input: whoever decides by time is given one of these, and tests give another. */
export interface Clock {
  now(): Date;
  /** Never goes back, in milliseconds; for how long something took, not for when. */
  monotonicMillis(): number;
  /** Ends after `millis`, or at once with the reason of the abort. Holds no process open. */
  wait(millis: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMillis: () => performance.now(),
  wait: async (millis, signal) => {
    try {
      await delay(millis, undefined, { ref: false, ...(signal && { signal }) });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
};
