import type { NatsConnection } from '@nats-io/nats-core';
import type { Wake } from '../wake.ts';

/**
 * Wakes loops in every process over core NATS. While the server is away nothing is sent: the
 * loops look once a second anyway.
 */
export function createNatsWake(nats: NatsConnection): Wake {
  return {
    notify: (topic) => {
      if (!nats.isClosed() && !nats.isDraining()) nats.publish(`hangar.wake.${topic}`);
    },
    subscribe: (topic, callback) => {
      const subscription = nats.subscribe(`hangar.wake.${topic}`, { callback: () => callback() });
      return () => {
        if (!nats.isClosed()) subscription.unsubscribe();
      };
    },
  };
}
