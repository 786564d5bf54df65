import { pruneEventLog } from '@hangar/messaging/postgres';
import type pg from 'pg';

/** Answers to Idempotency-Keys and finished work are of no use after this; events stay for ever. */
const KEPT_DAYS = 30;
const DAY_MS = 86_400_000;

/** Once at the start and once a day; every replica may do it. */
export function createPruning(
  pool: pg.Pool,
  onError: (error: unknown) => void,
): { start(): void; stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<unknown> = Promise.resolve();
  let stopped = false;
  const pruneAll = async (): Promise<void> => {
    while (!stopped && (await pruneEventLog(pool, KEPT_DAYS)) > 0);
  };
  const prune = (): void => {
    running = pruneAll().catch(onError);
  };
  return {
    start: () => {
      prune();
      timer = setInterval(prune, DAY_MS);
      timer.unref();
    },
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
