import type { NatsConnection } from '@nats-io/nats-core';
import { nudgeSubject, type Runs } from './run.service.ts';
import type { Run } from './run.ts';

/** What the bus lost is read from the log within this time. */
const LOOK_MS = 5_000;

export interface RunWatch {
  end(): void;
}

/**
 * Says what the run's log says, now and after each change: the bus tells at once that there is
 * something, the log tells what, for good.
 */
export function watchRun(
  options: { nats: NatsConnection; runs: Runs },
  runId: string,
  onRun: (run: Run) => void,
): RunWatch {
  const { nats, runs } = options;
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
      const loaded = await runs.load(runId).catch(() => null);
      if (loaded?.state && !isEnded) onRun(loaded.state);
    }
    isLooking = false;
  };
  const subscription = nats.subscribe(nudgeSubject(runId), { callback: () => void look() });
  const sweep = setInterval(() => void look(), LOOK_MS);
  return {
    end: () => {
      isEnded = true;
      if (!nats.isClosed()) subscription.unsubscribe();
      clearInterval(sweep);
    },
  };
}
