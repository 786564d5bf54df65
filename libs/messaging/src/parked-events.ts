import { HangarError } from '@hangar/contracts';
import type pg from 'pg';
import type { RecordedEvent } from './event.ts';
import { lockInbox } from './inbox.ts';
import type { ReadStream } from './inbox-handler.ts';
import { inTransaction } from './postgres/transaction.ts';
import type { Transaction } from './transaction.ts';

/** An event that a consumer could not handle, or one behind it in the same stream. */
export interface ParkedEvent {
  consumer: string;
  stream: string;
  version: number;
  eventId: string;
  type: string;
  error: string;
  attempts: number;
  firstAt: Date;
}

/** Parked events listed at once, at most. */
export const PARKED_PAGE_MAX = 500;

const LIST = `select consumer, stream_id as stream, version::int as version,
    event_id as "eventId", type, error, attempts, first_at as "firstAt"
  from es.parked where ($1::text is null or consumer = $1)
  order by first_at, stream_id, version limit $2`;
const FIRST = `select version::int as version from es.parked
  where consumer = $1 and stream_id = $2 order by version limit 1`;
const DELETE = 'delete from es.parked where consumer = $1 and stream_id = $2 and version = $3';
const UNBLOCK = 'update es.inbox set blocked = false where consumer = $1 and stream_id = $2';

/** The parked events of one consumer, or of all, oldest first. */
export async function listParked(pool: pg.Pool, consumer?: string): Promise<ParkedEvent[]> {
  const values = [consumer ?? null, PARKED_PAGE_MAX];
  return (await pool.query<ParkedEvent>(LIST, values)).rows;
}

export interface RetryOptions {
  pool: pg.Pool;
  consumer: string;
  stream: string;
  handle(event: RecordedEvent, tx: Transaction): Promise<void>;
  readStream: ReadStream;
}

/**
 * Handles the parked events of a stream in order, one transaction each, until none is left (then
 * the stream flows again) or one fails again (then its error is thrown and it stays parked).
 */
export async function retryParked(options: RetryOptions): Promise<number> {
  const { pool, consumer, stream } = options;
  for (let handled = 0; ; handled += 1) {
    const isOver = await inTransaction(pool, async (tx) => {
      await lockInbox(tx, consumer, stream);
      const [first] = (await tx.query<{ version: number }>(FIRST, [consumer, stream])).rows;
      if (!first) {
        await tx.query(UNBLOCK, [consumer, stream]);
        return true;
      }
      const [event] = await options.readStream(stream, first.version, 1, tx);
      if (event?.version !== first.version) {
        throw new HangarError('internal', `version ${first.version} of ${stream} is not there`);
      }
      await options.handle(event, tx);
      await tx.query(DELETE, [consumer, stream, first.version]);
      return false;
    });
    if (isOver) return handled;
  }
}

/** Gives up the first parked event of a stream; the ones behind it wait for a retry. */
export async function skipParked(
  pool: pg.Pool,
  consumer: string,
  stream: string,
  version: number,
): Promise<void> {
  await inTransaction(pool, async (tx) => {
    await lockInbox(tx, consumer, stream);
    const [first] = (await tx.query<{ version: number }>(FIRST, [consumer, stream])).rows;
    if (first?.version !== version) {
      throw new HangarError('conflict', `version ${version} of ${stream} is not the next parked`, {
        hint: first ? `The next one is version ${first.version}.` : 'Nothing is parked there.',
      });
    }
    await tx.query(DELETE, [consumer, stream, version]);
    const rest = await tx.query(FIRST, [consumer, stream]);
    if (rest.rows.length === 0) await tx.query(UNBLOCK, [consumer, stream]);
  });
}

/** What the log of a service says when an event is set aside: what, why, and what to do. */
export function parkedError(event: RecordedEvent, cause: unknown): HangarError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new HangarError('internal', `${event.type} of ${event.stream} was parked: ${why}`, {
    hint: 'Later events of that stream wait behind it; the runbook says how to retry or skip it.',
    cause,
  });
}
