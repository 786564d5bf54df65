const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Pauses after the first, second ... try, in milliseconds: about three days, ten tries in all. */
export const RETRY_PAUSES_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

export type Outcome =
  | { kind: 'delivered' }
  /** The receiver wants nothing any more: the webhook is disabled. */
  | { kind: 'gone' }
  | { kind: 'again'; afterMs: number }
  | { kind: 'dead' };

/** `attempt` counts from 1; `status` is null when there was no answer. */
export function outcomeOf(attempt: number, status: number | null): Outcome {
  if (status !== null && status >= 200 && status < 300) return { kind: 'delivered' };
  if (status === 410) return { kind: 'gone' };
  const afterMs = RETRY_PAUSES_MS[attempt - 1];
  return afterMs === undefined ? { kind: 'dead' } : { kind: 'again', afterMs };
}
