import type { NatsConnection } from '@nats-io/nats-core';
import { cancelSubject, type Runs } from './run.service.ts';
import type { Run } from './run.ts';
import type { StopReason } from './turn-process.ts';

/** A cancel that the bus lost is read from the log within this time. */
const CANCEL_SWEEP_MS = 5_000;

/** Stops come over the bus at once and from the log for good; time limits from the clock. */
export function watchForStop(
  options: { nats: NatsConnection; runs: Runs; now(): Date },
  runId: string,
  stop: AbortController,
): { limit(run: Run): void; end(): void } {
  const { nats, runs, now } = options;
  const cancel = (): void => stop.abort('cancelled' satisfies StopReason);
  const subscription = nats.subscribe(cancelSubject(runId), { callback: cancel });
  const sweep = setInterval(() => {
    void runs
      .load(runId)
      .then(({ state }) => {
        if (state && state.cancelling !== null) cancel();
      })
      .catch(() => undefined);
  }, CANCEL_SWEEP_MS);
  let limit: NodeJS.Timeout | undefined;
  return {
    limit: ({ request, started_at }) => {
      const from = started_at === null ? now() : new Date(started_at);
      const leftMs = from.getTime() + request.turn_minutes * 60_000 - now().getTime();
      const end = (): void => stop.abort('timed_out' satisfies StopReason);
      if (leftMs <= 0) end();
      else limit = setTimeout(end, leftMs);
    },
    end: () => {
      if (!nats.isClosed()) subscription.unsubscribe();
      clearInterval(sweep);
      clearTimeout(limit);
    },
  };
}
