import { HangarError } from '@hangar/contracts';
import type { RecordedEvent } from './event.ts';
import type { Transaction } from './transaction.ts';

/** What a consumer noted about one stream; the row is locked until the transaction ends. */
export interface InboxRow {
  /** The last version that was applied or parked. */
  version: number;
  /** Failures of the next version so far. */
  attempts: number;
  /** Not before then is the next version tried again. */
  retryAtMs: number | null;
  /** Events are parked, so later ones of this stream must be parked behind them. */
  blocked: boolean;
}

interface Row {
  version: number;
  attempts: number;
  retry_at_ms: number | null;
  blocked: boolean;
}

const INSERT = `insert into es.inbox (consumer, stream_id, version) values ($1, $2, 0)
  on conflict do nothing`;
const LOCK = `select version::int as version, attempts, blocked,
    (extract(epoch from retry_at) * 1000)::float8 as retry_at_ms
  from es.inbox where consumer = $1 and stream_id = $2 for update`;
const MARK = `update es.inbox set version = $3, attempts = 0, retry_at = null
  where consumer = $1 and stream_id = $2`;
const FAIL = `update es.inbox set attempts = attempts + 1, retry_at = $3
  where consumer = $1 and stream_id = $2`;
const PARK = `insert into es.parked (consumer, stream_id, version, event_id, type, error, attempts)
  values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`;
const BLOCK = `update es.inbox set blocked = true, version = $3, attempts = 0, retry_at = null
  where consumer = $1 and stream_id = $2`;

/** Replicas that work on the same stream wait for each other here. */
export async function lockInbox(
  tx: Transaction,
  consumer: string,
  stream: string,
): Promise<InboxRow> {
  const lock = (): Promise<{ rows: Row[] }> =>
    tx.query<Row>({ name: 'es-inbox-lock', text: LOCK }, [consumer, stream]);
  let { rows } = await lock();
  if (rows.length === 0) {
    await tx.query({ name: 'es-inbox-insert', text: INSERT }, [consumer, stream]);
    ({ rows } = await lock());
  }
  const [row] = rows;
  if (!row) throw new HangarError('internal', `no inbox row of ${consumer} for ${stream}`);
  const { version, attempts, blocked, retry_at_ms: retryAtMs } = row;
  return { version, attempts, blocked, retryAtMs };
}

export async function markHandled(
  tx: Transaction,
  consumer: string,
  stream: string,
  version: number,
): Promise<void> {
  await tx.query({ name: 'es-inbox-mark', text: MARK }, [consumer, stream, version]);
}

/** Counts a failure of the next version; the row is locked already. */
export async function countFailure(
  tx: Transaction,
  consumer: string,
  stream: string,
  retryAt: Date,
): Promise<void> {
  await tx.query(FAIL, [consumer, stream, retryAt]);
}

/** Puts an event aside, and with `blocked` every later one of its stream. */
export async function parkEvent(
  tx: Transaction,
  consumer: string,
  event: RecordedEvent,
  error: string,
  attempts: number,
): Promise<void> {
  const { stream, version, id, type } = event;
  await tx.query(PARK, [consumer, stream, version, id, type, error, attempts]);
  await tx.query(BLOCK, [consumer, stream, version]);
}
