import { HangarError } from '@hangar/contracts';
import type pg from 'pg';
import type { PreparedEvent } from '../append-request.ts';
import type { AppendOptions, AppendResult } from '../event-store.ts';
import type { Json } from '../json.ts';

const APPEND = `select es.append($1, $2, $3, $4::uuid[], $5::text[], $6::smallint[], $7::json[],
  $8::json[], $9::timestamptz, $10)::int as version`;
const RECORD = `select es.record($1, $2, $3, $4::uuid[], $5::text[], $6::smallint[], $7::json[],
  $8::json[], $9::timestamptz, $10::json) as answer`;

const UNIQUE_VIOLATION = '23505';

/** Runs a named statement on the pool or in a transaction. */
export type Run = <Row>(name: string, text: string, values: unknown[]) => Promise<Row[]>;

export const runOnPool =
  (pool: pg.Pool): Run =>
  async <Row>(name: string, text: string, values: unknown[]) =>
    (await pool.query({ name, text, values })).rows as Row[];

/** Appends in one statement: the short function when there is nothing but events. */
export async function appendRows(
  run: Run,
  stream: string,
  aggregate: string,
  expected: number,
  events: PreparedEvent[],
  options: AppendOptions,
): Promise<AppendResult> {
  const meta = JSON.stringify(options.meta);
  const ids = events.map((event) => event.id);
  const values: unknown[] = [
    stream,
    aggregate,
    expected,
    ids,
    events.map((event) => event.type),
    events.map((event) => event.schema),
    events.map((event) => event.text),
    events.map(() => meta),
    options.now?.toISOString() ?? null,
  ];
  try {
    if (isPlain(options) && events.length > 0) {
      const close = options.close ?? false;
      const rows = await run<{ version: number }>('es-append', APPEND, [...values, close]);
      return resultOf(rows[0]?.version ?? -1, ids);
    }
    const extra = JSON.stringify(extraOf(options));
    const rows = await run<{ answer: Answer }>('es-record', RECORD, [...values, extra]);
    return resultOfAnswer(rows[0]?.answer, ids);
  } catch (error) {
    throw duplicateId(error, stream);
  }
}

interface Answer {
  outcome: AppendResult['kind'];
  version?: number;
  result?: Json;
}

const isPlain = (options: AppendOptions): boolean =>
  !options.inbox && !options.timers?.length && !options.effects?.length && !options.command;

const extraOf = (options: AppendOptions): object => ({
  ...(options.close ? { close: true } : {}),
  ...(options.inbox ? { inbox: options.inbox } : {}),
  ...(options.command ? { command: options.command } : {}),
  ...(options.timers?.length ? { timers: options.timers } : {}),
  ...(options.effects?.length ? { effects: options.effects } : {}),
});

function resultOf(version: number, ids: string[]): AppendResult {
  if (version === -1) return { kind: 'conflict' };
  if (version === -2) return { kind: 'closed' };
  return { kind: 'appended', version, ids };
}

function resultOfAnswer(answer: Answer | undefined, ids: string[]): AppendResult {
  switch (answer?.outcome) {
    case 'appended':
      return { kind: 'appended', version: answer.version ?? 0, ids };
    case 'answered':
      return { kind: 'answered', result: answer.result ?? null };
    case 'conflict':
    case 'closed':
    case 'handled':
    case 'key-reused':
      return { kind: answer.outcome };
    default:
      throw new HangarError('internal', 'the log gave an answer that is not known');
  }
}

/** An id that already stands elsewhere in the log: two different causes gave the same id. */
function duplicateId(error: unknown, stream: string): unknown {
  const { code, constraint } = error as { code?: string; constraint?: string };
  if (code !== UNIQUE_VIOLATION || constraint !== 'event_id') return error;
  const message = `an event with this id is already recorded elsewhere than next in ${stream}`;
  return new HangarError('conflict', message, { cause: error });
}
