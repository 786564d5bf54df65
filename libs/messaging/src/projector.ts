import type pg from 'pg';
import type { Cursor, RecordedEvent } from './event.ts';
import { heldBackMs, isHeldBack, readFeed } from './postgres/feed.ts';
import { inTransaction } from './postgres/transaction.ts';
import { createSleeper } from './sleeper.ts';
import type { Transaction } from './transaction.ts';
import { asItIs, type Upcast } from './upcast.ts';
import type { Wake } from './wake.ts';

export interface ProjectorOptions {
  name: string;
  /** Goes up with every change of what is made of the events: then it is made anew. */
  fold: number;
  pool: pg.Pool;
  wake: Wake;
  /** Makes the empty tables of this fold, beside those in use. */
  prepare(tx: Transaction): Promise<void>;
  /** Applies a batch in feed order; runs in the transaction that moves the position. */
  apply(events: RecordedEvent[], tx: Transaction): Promise<void>;
  /** Puts the tables of this fold in the place of the older ones; called once, caught up. */
  activate(tx: Transaction): Promise<void>;
  upcast?: Upcast;
  batchEventsMax?: number;
  sweepMs?: number;
  onError?(error: unknown): void;
}

export interface Projector {
  start(): void;
  stop(): Promise<void>;
  /** Everything committed before the call is applied when it resolves. */
  caughtUp(): Promise<void>;
  position(): Cursor | undefined;
}

const BATCH_EVENTS_MAX = 256;
const SWEEP_MS = 1000;
const FAILURE_PAUSE_MS = 250;

interface Row {
  fence: string;
  position: string;
  state: 'live' | 'rebuilding';
}

const INSERT = `insert into es.projection (name, fold, state) values ($1, $2, 'rebuilding')
  on conflict do nothing`;
const READ = `select fence::text as fence, position::text as position, state from es.projection
  where name = $1 and fold = $2`;
const MOVE = `update es.projection set fence = $5::xid8, position = $6, updated_at = now()
  where name = $1 and fold = $2 and fence = $3::xid8 and position = $4`;
const ACTIVATE = `update es.projection set state = 'live', updated_at = now()
  where name = $1 and fold = $2 and state = 'rebuilding'`;
const FORGET = 'delete from es.projection where name = $1 and fold < $2';

/**
 * A read model that follows the feed, in batches of what has queued. Replicas may all run it:
 * the position moves by compare and set, in the transaction that applied the batch. A new fold
 * is built from the start beside the old tables, which serve until it has caught up.
 */
export function createProjector(options: ProjectorOptions): Projector {
  const projector = new FeedProjector(options);
  return {
    start: () => projector.start(),
    stop: () => projector.stop(),
    caughtUp: () => projector.caughtUp(),
    position: () => projector.cursor,
  };
}

class FeedProjector {
  cursor: Cursor | undefined;
  private readonly options: ProjectorOptions;
  private readonly sleeper = createSleeper();
  private readonly waiting = new Set<() => void>();
  private running: Promise<void> | undefined;
  private isLive = false;
  private isStopped = false;
  /** Above 0: committed events are there that cannot be read yet. */
  private lateMs = 0;

  constructor(options: ProjectorOptions) {
    this.options = options;
  }

  start(): void {
    this.running ??= this.run();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.sleeper.wake();
    await this.running;
  }

  caughtUp(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.add(resolve);
      this.sleeper.wake();
    });
  }

  private async run(): Promise<void> {
    const unsubscribe = this.options.wake.subscribe('log', () => this.sleeper.wake());
    while (!this.isStopped) {
      try {
        const asked = [...this.waiting];
        const pauseMs = await this.step();
        if (pauseMs === 0) continue;
        if (this.lateMs === 0) this.answer(asked);
        await this.sleeper.sleep(pauseMs);
      } catch (error) {
        this.cursor = undefined;
        this.options.onError?.(error);
        if (!this.isStopped) await this.sleeper.sleep(FAILURE_PAUSE_MS);
      }
    }
    unsubscribe();
  }

  private answer(asked: (() => void)[]): void {
    for (const resolve of asked) {
      this.waiting.delete(resolve);
      resolve();
    }
  }

  /** Applies one batch; the answer is how long to wait for the next. */
  private async step(): Promise<number> {
    const { pool, batchEventsMax = BATCH_EVENTS_MAX, sweepMs = SWEEP_MS } = this.options;
    const cursor = (this.cursor ??= await this.findCursor());
    // Read outside the transaction: its own id would be the oldest, and hide what is behind it.
    const events = await readFeed(pool, cursor, batchEventsMax);
    const last = events.at(-1);
    if (!last) {
      this.lateMs = (await isHeldBack(pool, cursor)) ? heldBackMs(this.lateMs) : 0;
      if (this.lateMs > 0) return Math.min(this.lateMs, sweepMs);
      if (!this.isLive) await this.goLive();
      return sweepMs;
    }
    this.lateMs = 0;
    const upcast = this.options.upcast ?? asItIs;
    const isMine = await inTransaction(pool, async (tx) => {
      if (!(await this.move(tx, cursor, last.position))) return false;
      await this.options.apply(
        events.map((event) => upcast(event)),
        tx,
      );
      return true;
    });
    this.cursor = isMine ? last.position : undefined;
    return 0;
  }

  private async findCursor(): Promise<Cursor> {
    const { pool, name, fold } = this.options;
    const row = await inTransaction(pool, async (tx) => {
      const made = await tx.query(INSERT, [name, fold]);
      if (made.rowCount === 1) await this.options.prepare(tx);
      return (await tx.query<Row>(READ, [name, fold])).rows[0];
    });
    this.isLive = row?.state === 'live';
    return { fence: row?.fence ?? '0', position: row?.position ?? '0' };
  }

  private async move(tx: Transaction, from: Cursor, to: Cursor): Promise<boolean> {
    const { name, fold } = this.options;
    const values = [name, fold, from.fence, from.position, to.fence, to.position];
    return (await tx.query(MOVE, values)).rowCount === 1;
  }

  private async goLive(): Promise<void> {
    const { pool, name, fold } = this.options;
    await inTransaction(pool, async (tx) => {
      if ((await tx.query(ACTIVATE, [name, fold])).rowCount !== 1) return;
      await this.options.activate(tx);
      await tx.query(FORGET, [name, fold]);
    });
    this.isLive = true;
  }
}
