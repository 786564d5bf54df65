import { HangarError } from '@hangar/contracts';
import type pg from 'pg';
import {
  finishLease,
  nextEffectMs,
  renewLease,
  takeEffect,
  takeOver,
  yieldLease,
  type EffectLease,
} from './effect-leases.ts';
import type { JsonObject } from './json.ts';
import { createSleeper } from './sleeper.ts';
import type { Transaction } from './transaction.ts';
import type { Wake } from './wake.ts';

/** Work outside the database, leased to this runner for the time of the call. */
export interface LeasedEffect {
  /** Derived from the event that asked for it; also names what is made outside. */
  key: string;
  kind: string;
  stream: string;
  payload: JsonObject;
  /** 1 at the first try; above that, look what is there before acting. */
  attempt: number;
  /**
   * Marks it done together with the outcome that is appended in `tx`. Throws `conflict` when the
   * lease was lost: then somebody else records the outcome. Without it, returning is done.
   */
  done(tx: Transaction): Promise<void>;
}

export interface EffectRunnerOptions {
  pool: pg.Pool;
  wake: Wake;
  /** Stable name of this replica. A runner that starts takes over what it left behind. */
  instance: string;
  /** Each runs outside any transaction and ends soon after `signal` is aborted. */
  kinds: Record<string, (effect: LeasedEffect, signal: AbortSignal) => Promise<void>>;
  concurrency?: number;
  leaseMs?: number;
  heartbeatMs?: number;
  sweepMs?: number;
  attemptsMax?: number;
  retryMs?(attempt: number): number;
  onError?(error: unknown, effect?: LeasedEffect): void;
  /** Told when an effect failed `attemptsMax` times; it stays in the table as dead. */
  onDead?(effect: LeasedEffect, error: unknown): void | Promise<void>;
}

export interface EffectRunner {
  start(): void;
  /** Aborts what runs, waits for it to end, and gives the leases back. */
  stop(): Promise<void>;
  running(): string[];
}

const CONCURRENCY = 8;
const LEASE_MS = 15_000;
const HEARTBEAT_MS = 5_000;
const SWEEP_MS = 1000;
const ATTEMPTS_MAX = 10;
const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 60_000;
const FAILURE_PAUSE_MS = 250;

const defaultRetryMs = (attempt: number): number =>
  Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** (attempt - 1));

/**
 * Executes effects in any number of replicas. While a lease holds nobody else touches its key;
 * a runner that cannot renew in time aborts its work before the lease ends.
 */
export function createEffectRunner(options: EffectRunnerOptions): EffectRunner {
  const runner = new LeasingRunner(options);
  return {
    start: () => runner.start(),
    stop: () => runner.stop(),
    running: () => [...runner.active.keys()],
  };
}

class LeasingRunner {
  readonly active = new Map<string, Promise<void>>();
  private readonly options: EffectRunnerOptions;
  private readonly sleeper = createSleeper();
  private readonly ending = new AbortController();
  private loop: Promise<void> | undefined;

  constructor(options: EffectRunnerOptions) {
    this.options = options;
  }

  start(): void {
    this.loop ??= this.run();
  }

  async stop(): Promise<void> {
    this.ending.abort(new HangarError('unavailable', 'hangar is stopping'));
    this.sleeper.wake();
    await this.loop;
    await Promise.all(this.active.values());
  }

  private get isStopped(): boolean {
    return this.ending.signal.aborted;
  }

  private async run(): Promise<void> {
    const { wake, concurrency = CONCURRENCY } = this.options;
    const unsubscribe = wake.subscribe('effect', () => this.sleeper.wake());
    let hasTakenOver = false;
    while (!this.isStopped) {
      try {
        if (!hasTakenOver) await takeOver(this.options.pool, this.scope());
        hasTakenOver = true;
        if (this.active.size < concurrency && (await this.takeNext())) continue;
        await this.sleeper.sleep(this.isStopped ? 0 : await this.pauseMs());
      } catch (error) {
        this.options.onError?.(error);
        if (!this.isStopped) await this.sleeper.sleep(FAILURE_PAUSE_MS);
      }
    }
    unsubscribe();
  }

  private scope(): { instance: string; kinds: string[]; leaseMs: number } {
    const { instance, kinds, leaseMs = LEASE_MS } = this.options;
    return { instance, kinds: Object.keys(kinds), leaseMs };
  }

  private async pauseMs(): Promise<number> {
    const { sweepMs = SWEEP_MS, concurrency = CONCURRENCY } = this.options;
    if (this.active.size >= concurrency) return sweepMs;
    const nextMs = await nextEffectMs(this.options.pool, this.scope());
    return Math.min(sweepMs, Math.max(1, nextMs ?? sweepMs));
  }

  private async takeNext(): Promise<boolean> {
    const askedAtMs = performance.now();
    const lease = await takeEffect(this.options.pool, this.scope());
    if (!lease) return false;
    const work = this.execute(lease, askedAtMs)
      .catch((error: unknown) => this.options.onError?.(error))
      .finally(() => {
        this.active.delete(lease.key);
        this.sleeper.wake();
      });
    this.active.set(lease.key, work);
    return true;
  }

  private async execute(lease: EffectLease, takenAtMs: number): Promise<void> {
    const lost = new AbortController();
    const signal = AbortSignal.any([lost.signal, this.ending.signal]);
    const heart = this.beat(lease, lost, takenAtMs);
    const effect: LeasedEffect = {
      key: lease.key,
      kind: lease.kind,
      stream: lease.stream,
      payload: lease.payload,
      attempt: lease.attempts,
      done: (tx) => finishLease(tx, lease),
    };
    try {
      await this.options.kinds[lease.kind]?.(effect, signal);
      await finishLease(this.options.pool, lease, true);
    } catch (error) {
      await this.fail(lease, effect, error, signal);
    } finally {
      heart.stop();
    }
  }

  /** Renews the lease, and aborts the work while the lease still holds if that cannot be done. */
  private beat(lease: EffectLease, lost: AbortController, takenAtMs: number): { stop(): void } {
    const { leaseMs = LEASE_MS, heartbeatMs = HEARTBEAT_MS } = this.options;
    const reason = new HangarError('unavailable', `the lease of ${lease.key} was lost`);
    // A fifth of the lease is left for the work to end after its signal.
    const limitMs = leaseMs * 0.8;
    let last = takenAtMs;
    let alarm = setTimeout(() => lost.abort(reason), limitMs);
    const renew = async (): Promise<void> => {
      const askedAtMs = performance.now();
      if (!(await renewLease(this.options.pool, lease, leaseMs))) return lost.abort(reason);
      last = askedAtMs;
      clearTimeout(alarm);
      if (stopped) return;
      alarm = setTimeout(() => lost.abort(reason), Math.max(0, last + limitMs - performance.now()));
    };
    let stopped = false;
    const beat = setInterval(() => void renew().catch(() => undefined), heartbeatMs);
    return {
      stop: () => {
        stopped = true;
        clearInterval(beat);
        clearTimeout(alarm);
      },
    };
  }

  private async fail(
    lease: EffectLease,
    effect: LeasedEffect,
    error: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    const { attemptsMax = ATTEMPTS_MAX, retryMs = defaultRetryMs } = this.options;
    const text = error instanceof Error ? error.message : String(error);
    if (signal.aborted) {
      // Stopped, not failed: the try does not count, and another replica may go on at once.
      await yieldLease(this.options.pool, lease, { afterMs: 0, isDead: false, isCounted: false });
      return;
    }
    const isDead = lease.attempts >= attemptsMax;
    const afterMs = retryMs(lease.attempts);
    const isMine = await yieldLease(this.options.pool, lease, {
      afterMs,
      isDead,
      isCounted: true,
      error: text,
    });
    this.options.onError?.(error, effect);
    if (isDead && isMine) await this.options.onDead?.(effect, error);
  }
}
