import type pg from 'pg';
import type { JsonObject } from './json.ts';
import { inTransaction, isTransientDatabaseError } from './postgres/transaction.ts';
import { createSleeper } from './sleeper.ts';
import type { Transaction } from './transaction.ts';
import type { Wake } from './wake.ts';

/** A timer that is due; it was armed by an append to `stream`. */
export interface DueTimer {
  id: string;
  kind: string;
  stream: string;
  payload: JsonObject;
  dueAt: Date;
  attempts: number;
}

export interface TimerRunnerOptions {
  pool: pg.Pool;
  wake: Wake;
  /**
   * What each kind does. It runs in the transaction that removes the timer, so what it appends
   * through `tx` happens exactly once; it may arm the same id again.
   */
  kinds: Record<string, (timer: DueTimer, tx: Transaction) => Promise<void>>;
  now?(): Date;
  /** Longest sleep; a wake or a due timer ends it earlier. */
  sweepMs?: number;
  attemptsMax?: number;
  retryMs?(attempts: number): number;
  onError?(error: unknown): void;
  /** Told when a timer failed `attemptsMax` times and is left in the table as dead. */
  onDead?(timer: DueTimer, error: unknown): void;
}

export interface TimerRunner {
  start(): void;
  stop(): Promise<void>;
}

const SWEEP_MS = 1000;
const ATTEMPTS_MAX = 20;
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 300_000;
const FAILURE_PAUSE_MS = 250;

const TAKE = `delete from es.timer where id = (
    select id from es.timer where kind = any($1) and due_at <= $2 and not dead
    order by due_at limit 1 for update skip locked)
  returning id, kind, stream_id as stream, payload, due_at as "dueAt", attempts`;
const NEXT = `select min(due_at) as "dueAt" from es.timer where kind = any($1) and not dead`;
const POSTPONE = `update es.timer set attempts = attempts + 1, due_at = $3, error = $4, dead = $5
  where id = $1 and attempts = $2`;

const defaultRetryMs = (attempts: number): number =>
  Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** (attempts - 1));

/** Thrown to roll back, so that the timer is still there. */
class TimerFailure extends Error {
  readonly timer: DueTimer;
  constructor(timer: DueTimer, cause: unknown) {
    super(`timer ${timer.id} failed`, { cause });
    this.timer = timer;
  }
}

/** Fires due timers, in any number of replicas, each once. */
export function createTimerRunner(options: TimerRunnerOptions): TimerRunner {
  const kinds = Object.keys(options.kinds);
  const now = options.now ?? (() => new Date());
  const sleeper = createSleeper();
  let isStopped = false;
  let running: Promise<void> | undefined;

  const run = async (): Promise<void> => {
    const unsubscribe = options.wake.subscribe('timer', () => sleeper.wake());
    while (!isStopped) {
      try {
        if (await fireNext(options, kinds, now)) continue;
        await sleeper.sleep(await pauseMs(options, kinds, now));
      } catch (error) {
        options.onError?.(error);
        if (!isStopped) await sleeper.sleep(FAILURE_PAUSE_MS);
      }
    }
    unsubscribe();
  };

  return {
    start: () => void (running ??= run()),
    stop: async () => {
      isStopped = true;
      sleeper.wake();
      await running;
    },
  };
}

/** Fires the timer that is due for longest; false when none is due or others have them all. */
async function fireNext(
  options: TimerRunnerOptions,
  kinds: string[],
  now: () => Date,
): Promise<boolean> {
  try {
    return await inTransaction(options.pool, async (tx) => {
      const { rows } = await tx.query<DueTimer>(TAKE, [kinds, now()]);
      const [timer] = rows;
      if (!timer) return false;
      try {
        await options.kinds[timer.kind]?.(timer, tx);
      } catch (error) {
        throw new TimerFailure(timer, error);
      }
      return true;
    });
  } catch (error) {
    if (!(error instanceof TimerFailure) || isTransientDatabaseError(error.cause)) throw error;
    await postpone(options, error, now);
    return true;
  }
}

async function postpone(
  options: TimerRunnerOptions,
  failure: TimerFailure,
  now: () => Date,
): Promise<void> {
  const { timer, cause } = failure;
  const attempts = timer.attempts + 1;
  const isDead = attempts >= (options.attemptsMax ?? ATTEMPTS_MAX);
  const dueAt = new Date(now().getTime() + (options.retryMs ?? defaultRetryMs)(attempts));
  const text = cause instanceof Error ? cause.message : String(cause);
  await options.pool.query(POSTPONE, [timer.id, timer.attempts, dueAt, text, isDead]);
  options.onError?.(cause);
  if (isDead) options.onDead?.(timer, cause);
}

async function pauseMs(
  options: TimerRunnerOptions,
  kinds: string[],
  now: () => Date,
): Promise<number> {
  const { rows } = await options.pool.query<{ dueAt: Date | null }>(NEXT, [kinds]);
  const dueAt = rows[0]?.dueAt;
  const sweepMs = options.sweepMs ?? SWEEP_MS;
  if (!dueAt) return sweepMs;
  // At least a millisecond: a due timer that another replica holds is not asked for in a loop.
  return Math.min(sweepMs, Math.max(1, dueAt.getTime() - now().getTime()));
}
