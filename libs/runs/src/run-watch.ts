import type { NatsConnection } from '@nats-io/nats-core';
import { nudgeSubject } from './run.service.ts';

/** What the bus lost is read from the log within this time. */
const LOOK_MS = 5_000;

export interface LogWatch {
  end(): void;
}

/**
 * Says what the log of a run or a terminal says, now and after each change: the bus tells at once
 * that there is something, the log tells what, for good.
 */
export function watchLog<State>(
  { nats, load }: { nats: NatsConnection; load(): Promise<State | null> },
  id: string,
  onState: (state: State) => void,
): LogWatch {
  let isEnded = false;
  let isLooking = false;
  let isWanted = false;
  const look = async (): Promise<void> => {
    isWanted = true;
    if (isLooking) return;
    isLooking = true;
    while (isWanted && !isEnded) {
      isWanted = false;
      // A log that cannot be read is read again with the next look.
      const state = await load().catch(() => null);
      if (state !== null && !isEnded) onState(state);
    }
    isLooking = false;
  };
  const subscription = nats.subscribe(nudgeSubject(id), { callback: () => void look() });
  const sweep = setInterval(() => void look(), LOOK_MS);
  return {
    end: () => {
      isEnded = true;
      if (!nats.isClosed()) subscription.unsubscribe();
      clearInterval(sweep);
    },
  };
}
