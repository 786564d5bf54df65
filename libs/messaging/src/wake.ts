/** What was just committed: events for the relay and projections, timers, or effects. */
export type WakeTopic = 'log' | 'timer' | 'effect';

/**
 * Tells waiting loops that there is work. It is only a hint: each loop also looks once a second,
 * so a lost one costs at most that.
 */
export interface Wake {
  notify(topic: WakeTopic): void;
  /** Returns the function that ends the subscription. */
  subscribe(topic: WakeTopic, callback: () => void): () => void;
}

/** Wakes loops of the same process; `createNatsWake` reaches every replica. */
export function createLocalWake(): Wake {
  const callbacks = new Map<WakeTopic, Set<() => void>>();
  return {
    notify: (topic) => {
      for (const callback of callbacks.get(topic) ?? []) callback();
    },
    subscribe: (topic, callback) => {
      const set = callbacks.get(topic) ?? new Set();
      callbacks.set(topic, set.add(callback));
      return () => set.delete(callback);
    },
  };
}
