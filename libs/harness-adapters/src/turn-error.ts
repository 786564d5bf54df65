/**
 * What kind of failure a harness reports, from its HTTP status and its words. Harnesses mix a
 * provider's text with their own, so the status decides where there is one.
 */
import type { TurnErrorKind, TurnResult } from './harness-adapter.ts';

type TurnError = NonNullable<TurnResult['error']>;

export interface ReportedError {
  /** What the person reads. */
  message: string;
  /** HTTP status, where the harness says one. */
  status?: number | undefined;
  /** Epoch seconds or milliseconds at which a usage limit ends, where the harness says it. */
  resetsAt?: number | undefined;
  /** Epoch milliseconds of the harness's own clock: what "resets in 2 hours" counts from. */
  saidAtMilliseconds?: number | undefined;
}

/** Longest message kept, in characters. */
const MESSAGE_CHARACTERS_MAX = 4_000;

const anyOf = (...words: string[]): RegExp => new RegExp(words.join('|'), 'i');

/** Words that mean the account's allowance is used up, whatever the status. */
const USAGE_LIMIT = anyOf(
  'usage limit',
  'hit your .{0,40}limit',
  'limit reached',
  'quota',
  'credit balance',
  'out of credits',
);
const AUTHENTICATION = anyOf(
  'invalid (x-)?api[- ]key',
  'authentication',
  'unauthorized',
  'not logged in',
  'missing environment variable',
  'no api key',
  'no models available',
);
const INVALID = anyOf(
  'invalid_request',
  'bad request',
  'too large',
  'context window',
  'prompt is too long',
);
const OVERLOADED = anyOf('overloaded', 'server is busy', 'internal server error', 'high demand');
const CONNECTION = anyOf(
  'connection',
  '(cannot|unable to) connect',
  'network',
  'ECONN',
  'ENOTFOUND',
  'ETIMEDOUT',
  'fetch failed',
  'socket',
  'terminated',
  'stream (disconnected|closed)',
  'timed? ?out',
);

export function turnError(reported: ReportedError): TurnError {
  const message = reported.message.trim().slice(0, MESSAGE_CHARACTERS_MAX);
  const status = reported.status ?? statusIn(message);
  const kind = kindOf(status, message);
  if (kind !== 'usage_limit') return { kind, message };
  const resetsAt = resetTime(reported, message);
  return { kind, message, ...(resetsAt === null ? {} : { resetsAt }) };
}

function kindOf(status: number | undefined, message: string): TurnErrorKind {
  if (status === 429 || USAGE_LIMIT.test(message)) return 'usage_limit';
  if (status === 401 || status === 403) return 'authentication';
  if (status !== undefined && status >= 500) return 'overloaded';
  if (status !== undefined && status >= 400) return 'invalid_request';
  if (AUTHENTICATION.test(message)) return 'authentication';
  if (INVALID.test(message)) return 'invalid_request';
  if (OVERLOADED.test(message)) return 'overloaded';
  return CONNECTION.test(message) ? 'connection' : 'unknown';
}

/** `401 {...}`, `API Error: 529 ...`, `unexpected status 401 Unauthorized`, `last status: 429`. */
function statusIn(message: string): number | undefined {
  const found = /(?:^|status:? |error:? |http )([45]\d\d)\b/i.exec(message);
  return found ? Number(found[1]) : undefined;
}

const HOUR = 3_600_000;
const SPAN_MILLISECONDS: Record<string, number> = {
  day: 24 * HOUR,
  hour: HOUR,
  minute: 60_000,
  second: 1_000,
};

function resetTime(reported: ReportedError, message: string): string | null {
  if (reported.resetsAt !== undefined) return isoTime(reported.resetsAt);
  const epoch = /(?:resets?_?(?:at)?["': =|]+|reached\|)(\d{10,13})\b/i.exec(message)?.[1];
  if (epoch !== undefined) return isoTime(Number(epoch));
  const iso = /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)/.exec(
    message,
  )?.[0];
  if (iso !== undefined) return isoTime(Date.parse(iso));
  const saidAt = reported.saidAtMilliseconds;
  return saidAt === undefined ? null : (afterSpan(message, saidAt) ?? atClock(message, saidAt));
}

/** "try again at 2:46 PM", "try again at Dec 1st, 2026 2:46 PM": in UTC, the sandbox's zone. */
function atClock(message: string, saidAtMilliseconds: number): string | null {
  const dated = /at (\w{3} \d{1,2})(?:st|nd|rd|th)?, (\d{4}),? (\d{1,2}:\d\d [AP]M)/i.exec(message);
  if (dated) return isoTime(Date.parse(`${dated[1]}, ${dated[2]} ${dated[3]} UTC`));
  const clock = /at (\d{1,2}):(\d\d) ([AP])M/i.exec(message);
  if (!clock) return null;
  const hour = (Number(clock[1]) % 12) + (clock[3]?.toUpperCase() === 'P' ? 12 : 0);
  const day = new Date(saidAtMilliseconds).setUTCHours(hour, Number(clock[2]), 0, 0);
  return isoTime(day < saidAtMilliseconds ? day + 24 * HOUR : day);
}

/** "try again in 2 days 3 hours 5 minutes", "retry after 30 seconds". */
function afterSpan(message: string, saidAtMilliseconds: number): string | null {
  if (!/again in|resets in|retry (?:after|in)/i.test(message)) return null;
  let span = 0;
  for (const [, count, unit] of message.matchAll(/(\d+)\s*(day|hour|minute|second)s?/gi)) {
    span += Number(count) * (SPAN_MILLISECONDS[(unit ?? '').toLowerCase()] ?? 0);
  }
  return span > 0 ? isoTime(saidAtMilliseconds + span) : null;
}

function isoTime(epoch: number): string | null {
  const time = new Date(epoch < 1e12 ? epoch * 1000 : epoch);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

/** Longest part of stderr quoted to a person, in characters: its end. */
const STDERR_CHARACTERS_MAX = 2_000;

/** The result of a turn whose process went away before the harness said that it was over. */
export function processResult(
  name: string,
  exit: { code: number | null; signal: string | null },
  stderr: string,
  known: Pick<TurnResult, 'summary' | 'usage'> & { isInterrupted: boolean; lost?: RegExp },
): TurnResult {
  const { summary, usage } = known;
  if (known.isInterrupted) return { outcome: 'cancelled', summary, usage };
  const said = stderr.trim().slice(-STDERR_CHARACTERS_MAX);
  const how = exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
  const message =
    said === '' ? `${name} ended early (${how})` : `${name} ended early (${how}): ${said}`;
  const kind = exitKind(said, known.lost);
  return { outcome: 'failed', summary, usage, error: { kind, message } };
}

/** Only these two are told from a program's last words; other words may be about anything. */
function exitKind(said: string, lost: RegExp | undefined): TurnErrorKind {
  if (lost?.test(said) === true) return 'conversation_lost';
  return AUTHENTICATION.test(said) ? 'authentication' : 'process';
}
