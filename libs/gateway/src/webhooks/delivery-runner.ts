import { inTransaction } from '@hangar/messaging/postgres';
import type { Pool } from 'pg';
import { Signal } from '../live/signal.ts';
import type { DeliveryStore, Failure, TakenDelivery } from './delivery-store.ts';
import { outcomeOf } from './retry.ts';

/** Requests under way at once in this process, and of these to one owner and to one webhook. */
export const SENDING_MAX = 32;
export const SENDING_TO_OWNER_MAX = 8;
export const SENDING_TO_WEBHOOK_MAX = 2;
/** A receiver has this long to answer. */
export const ANSWER_MS_MAX = 10_000;
const SWEEP_MS = 1000;
const PRUNE_MS = 60 * 60_000;
/** What is under way when the process ends may end within this time. */
const LAST_MS_MAX = 2000;
const ERROR_CHARACTERS_MAX = 300;

export interface DeliveryRunnerOptions {
  pool: Pool;
  deliveries: DeliveryStore;
  /** Sends it and returns the status of the answer; throws when there is none. */
  send(delivery: TakenDelivery, signal: AbortSignal): Promise<number>;
  now(): Date;
  /** Ends one try; after `ANSWER_MS_MAX` when left out. */
  deadline?(): AbortSignal;
  onError(error: unknown): void;
}

/**
 * Sends what is due, in any number of replicas: a delivery is taken with a lease, and who takes a
 * little at a time holds no more in memory. A slow receiver uses up its own share of the requests
 * under way and nobody else's; that, and tries over days that their owner can look at, is why these
 * are not effects of the log, which wait in one queue.
 */
export class DeliveryRunner {
  readonly #options: DeliveryRunnerOptions;
  readonly #signal: Signal;
  readonly #sending = new Map<string, { taken: TakenDelivery; end: Promise<void> }>();
  readonly #stopping = new AbortController();
  readonly #cutting = new AbortController();
  #announce: () => void = () => undefined;
  #running: Promise<void> | undefined;
  #prunedAtMs = 0;

  constructor(options: DeliveryRunnerOptions) {
    this.#options = options;
    this.#signal = new Signal((announce) => {
      this.#announce = announce;
      return () => undefined;
    });
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** There may be something to send; it is also looked for once a second. */
  wake(): void {
    this.#announce();
  }

  /** Requests under way. */
  get sending(): number {
    return this.#sending.size;
  }

  /** What is under way gets a little time to end; then it is cut, and sent again by another. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    const cut = setTimeout(() => this.#cutting.abort(), LAST_MS_MAX);
    await Promise.all([...this.#sending.values()].map(({ end }) => end));
    clearTimeout(cut);
    this.#signal.close();
  }

  async #run(): Promise<void> {
    const stop = this.#stopping.signal;
    while (!stop.aborted) {
      const { mark } = this.#signal;
      try {
        await this.#pruneAtTimes();
        while (!stop.aborted && this.#sending.size < SENDING_MAX && (await this.#takeNext()));
      } catch (error) {
        this.#options.onError(error);
      }
      await this.#signal.next(mark, SWEEP_MS, stop);
    }
  }

  async #pruneAtTimes(): Promise<void> {
    const nowMs = this.#options.now().getTime();
    if (nowMs - this.#prunedAtMs < PRUNE_MS) return;
    this.#prunedAtMs = nowMs;
    await this.#options.deliveries.prune(this.#options.pool);
  }

  async #takeNext(): Promise<boolean> {
    const { pool, deliveries } = this.#options;
    const under = [...this.#sending.values()].map(({ taken }) => taken);
    const webhooks = atLimit(
      under.map(({ webhookId }) => webhookId),
      SENDING_TO_WEBHOOK_MAX,
    );
    const owners = atLimit(
      under.map(({ owner }) => owner),
      SENDING_TO_OWNER_MAX,
    );
    const taken = await deliveries.take(pool, webhooks, owners);
    if (!taken) return false;
    // Its lease may have ended while this process was held up: then it is here twice.
    const key = `${taken.id} ${taken.lease}`;
    const end = this.#try(taken)
      .catch((error: unknown) => this.#options.onError(error))
      .finally(() => {
        this.#sending.delete(key);
        this.wake();
      });
    this.#sending.set(key, { taken, end });
    return true;
  }

  async #try(taken: TakenDelivery): Promise<void> {
    const { pool, deliveries, send } = this.#options;
    const deadline = this.#options.deadline?.() ?? AbortSignal.timeout(ANSWER_MS_MAX);
    const cut = this.#cutting.signal;
    let status: number | null = null;
    let error = '';
    try {
      status = await send(taken, AbortSignal.any([deadline, cut]));
      error = `answered ${status}`;
    } catch (reason) {
      if (cut.aborted) return deliveries.giveBack(pool, taken);
      error = deadline.aborted ? `no answer within ${ANSWER_MS_MAX / 1000} s` : textOf(reason);
    }
    await this.#record(taken, { status, error });
  }

  async #record(taken: TakenDelivery, failure: Failure): Promise<void> {
    const { pool, deliveries } = this.#options;
    const outcome = outcomeOf(taken.attempt, failure.status);
    switch (outcome.kind) {
      case 'delivered':
        return deliveries.delivered(pool, taken, failure.status ?? 0);
      case 'again':
        return deliveries.again(pool, taken, failure, outcome.afterMs);
      case 'dead':
        return deliveries.dead(pool, taken, failure);
      case 'gone':
        return inTransaction(pool, (tx) => deliveries.disable(tx, taken, failure));
    }
  }
}

/** Those that stand in the list as often as allowed. */
function atLimit(all: string[], max: number): string[] {
  const counts = new Map<string, number>();
  for (const one of all) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts].filter(([, count]) => count >= max).map(([one]) => one);
}

const textOf = (reason: unknown): string =>
  (reason instanceof Error ? reason.message : String(reason)).slice(0, ERROR_CHARACTERS_MAX);
