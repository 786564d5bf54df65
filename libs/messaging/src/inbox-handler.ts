import { HangarError } from '@hangar/contracts';
import type pg from 'pg';
import type { RecordedEvent } from './event.ts';
import { PAGE_EVENTS_MAX } from './event-store.ts';
import { countFailure, lockInbox, markHandled, parkEvent } from './inbox.ts';
import { inTransaction, isTransientDatabaseError } from './postgres/transaction.ts';
import type { Transaction } from './transaction.ts';

/** Reads a page of the log inside the open transaction, so that no second connection is held. */
export type ReadStream = (
  stream: string,
  fromVersion: number,
  limit: number,
  tx: Transaction,
) => Promise<RecordedEvent[]>;

export interface InboxHandlerOptions {
  consumer: string;
  pool: pg.Pool;
  handle(event: RecordedEvent, tx: Transaction): Promise<void>;
  readStream: ReadStream;
  attemptsMax: number;
  /** Pause before attempt `attempts + 1`, in milliseconds. */
  retryMs(attempts: number): number;
  onParked?(event: RecordedEvent, error: unknown): void;
  onGapFilled?(stream: string, from: number, to: number): void;
}

/** `done`: ack. `later`: deliver again after the pause. */
export type Handled = { kind: 'done' } | { kind: 'later'; afterMs: number; error?: unknown };

/** Events of a gap applied in one transaction, at most; more follow in the next. */
const GAP_EVENTS_MAX = 100;

const DONE: Handled = { kind: 'done' };

/** Thrown to roll back: `event` failed, and before it the stream was at `applied`. */
class HandlerFailure extends Error {
  readonly event: RecordedEvent;
  readonly applied: number;
  constructor(event: RecordedEvent, applied: number, cause: unknown) {
    super('handler failed', { cause });
    this.event = event;
    this.applied = applied;
  }
}

/**
 * Brings a consumer to version `version` of a stream: applies what is missing, in order, each
 * event once, whatever the bus lost, doubled or mixed up. `event` saves reading it from the log.
 */
export async function bringTo(
  options: InboxHandlerOptions,
  stream: string,
  version: number,
  event?: RecordedEvent,
): Promise<Handled> {
  // A failure in the middle of a gap rolls all of it back: first go up to it, then try it alone.
  let until = version;
  for (;;) {
    try {
      const target = until;
      const step = await inTransaction(options.pool, (tx) =>
        applyNext(options, tx, stream, target, event),
      );
      if (step === 'more') continue;
      if (step.kind === 'later' || until === version) return step;
      until = version;
    } catch (error) {
      if (!(error instanceof HandlerFailure)) throw error;
      if (error.event.version > error.applied + 1) {
        until = error.event.version - 1;
        continue;
      }
      const after = await afterFailure(options, error);
      if (after !== 'more') return after;
    }
  }
}

async function applyNext(
  options: InboxHandlerOptions,
  tx: Transaction,
  stream: string,
  version: number,
  event: RecordedEvent | undefined,
): Promise<Handled | 'more'> {
  const row = await lockInbox(tx, options.consumer, stream);
  if (row.version >= version) return DONE;
  const pauseMs = (row.retryAtMs ?? 0) - Date.now();
  if (pauseMs > 0) return { kind: 'later', afterMs: pauseMs };
  const events = await missingEvents(options, tx, stream, row.version, version, event);
  for (const missing of events) {
    if (row.blocked) {
      const text = 'behind a parked event of the same stream';
      await parkEvent(tx, options.consumer, missing, text, 0);
      continue;
    }
    try {
      await options.handle(missing, tx);
    } catch (error) {
      throw new HandlerFailure(missing, row.version, error);
    }
  }
  const reached = events.at(-1)?.version ?? row.version;
  if (!row.blocked) await markHandled(tx, options.consumer, stream, reached);
  return reached < version ? 'more' : DONE;
}

async function missingEvents(
  options: InboxHandlerOptions,
  tx: Transaction,
  stream: string,
  applied: number,
  version: number,
  event: RecordedEvent | undefined,
): Promise<RecordedEvent[]> {
  if (event && event.version === applied + 1) return [event];
  const count = Math.min(version - applied, GAP_EVENTS_MAX, PAGE_EVENTS_MAX);
  const events = await options.readStream(stream, applied + 1, count, tx);
  if (events.length !== count || events.some((found, i) => found.version !== applied + 1 + i)) {
    throw new HangarError('internal', `the log has no version ${applied + 1} of ${stream}`);
  }
  options.onGapFilled?.(stream, applied + 1, applied + count);
  return events;
}

async function afterFailure(
  options: InboxHandlerOptions,
  failure: HandlerFailure,
): Promise<Handled | 'more'> {
  const { event, applied, cause } = failure;
  if (isTransientDatabaseError(cause)) {
    return { kind: 'later', afterMs: options.retryMs(1), error: cause };
  }
  return inTransaction(options.pool, async (tx) => {
    const row = await lockInbox(tx, options.consumer, event.stream);
    if (row.version !== applied) return 'more';
    const attempts = row.attempts + 1;
    const isPermanent = cause instanceof HangarError && cause.code === 'invalid';
    if (!isPermanent && attempts < options.attemptsMax) {
      const afterMs = options.retryMs(attempts);
      const retryAt = new Date(Date.now() + afterMs);
      await countFailure(tx, options.consumer, event.stream, retryAt);
      return { kind: 'later', afterMs, error: cause };
    }
    const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    await parkEvent(tx, options.consumer, event, text, attempts);
    tx.onCommit(() => options.onParked?.(event, cause));
    return 'more';
  });
}
