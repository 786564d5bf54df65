import { HangarError } from '@hangar/contracts';
import {
  ANSWER_SECONDS_MAX,
  CALL_RETRY_MS_FIRST,
  CALL_RETRY_MS_MAX,
  CALL_TRIES_MAX,
  RETRY_AFTER_SECONDS_MAX,
} from '../bounds.ts';
import { errorOfAnswer } from './answer-error.ts';
import { backoffMs, pause } from './pause.ts';

export type Query = Record<string, string | number | boolean | undefined>;

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** From the root of the server, ids and names already escaped. */
  path: string;
  query?: Query | undefined;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  text?: { type: string; value: string };
  /**
   * May be sent again when no answer came. GET, PUT and DELETE always may; a POST may when doing
   * it twice is doing it once, or when it carries an idempotency key.
   */
  repeatable?: boolean;
  idempotencyKey?: string;
  accept?: string;
  headers?: Record<string, string>;
  /** How long the server was asked to hold the answer; added to the deadline. */
  waitSeconds?: number | undefined;
  /** The body is handed on as it comes, without a deadline; otherwise it is read whole first. */
  stream?: boolean;
  /** Answers of 400 and above that are meant, not refusals. */
  statuses?: number[];
  /** Overrides CALL_TRIES_MAX, for callers that try again themselves. */
  tries?: number;
  signal?: AbortSignal | undefined;
}

export interface TransportSettings {
  /** The server, e.g. http://127.0.0.1:7700. */
  url: string;
  token?: string | undefined;
  fetch?: typeof fetch;
  /** Ends every call of this transport. */
  signal?: AbortSignal | undefined;
  /** Base of the pause between tries; tests shorten it. */
  retryMs?: number;
}

export interface Transport {
  readonly url: string;
  /** Ends every call. */
  readonly signal: AbortSignal | undefined;
  /** The answer of a call, its status below 400. Throws HangarError, or the signal's reason. */
  send(call: Call): Promise<Response>;
  /** The JSON of the answer; null when it has no body. */
  json<T>(call: Call): Promise<T>;
}

interface Sent {
  answer?: Response;
  error?: HangarError;
  /** Worth another try. */
  passing: boolean;
  /** Nobody received the call, so that any call may be sent again. */
  neverArrived?: boolean;
  retryAfterMs?: number;
}

export function createTransport(settings: TransportSettings): Transport {
  const send = (call: Call): Promise<Response> =>
    sendWithRetries(settings, { ...call, signal: either(settings.signal, call.signal) });
  return {
    url: settings.url,
    signal: settings.signal,
    send,
    async json<T>(call: Call): Promise<T> {
      const text = await (await send(call)).text();
      if (text === '') return null as T;
      try {
        return JSON.parse(text) as T;
      } catch (cause) {
        throw new HangarError('internal', `${settings.url} answered with something not JSON`, {
          hint: 'Check that the address is that of a hangar server (HANGAR_URL).',
          cause,
        });
      }
    },
  };
}

/** Aborted when one of them is, with its reason. */
export const either = (a?: AbortSignal, b?: AbortSignal): AbortSignal | undefined =>
  a && b ? AbortSignal.any([a, b]) : (a ?? b);

async function sendWithRetries(settings: TransportSettings, call: Call): Promise<Response> {
  const repeatable =
    call.repeatable === true || call.method !== 'POST' || call.idempotencyKey !== undefined;
  const triesMax = call.tries ?? CALL_TRIES_MAX;
  for (let attempt = 0; ; attempt += 1) {
    call.signal?.throwIfAborted();
    const sent = await sendOnce(settings, call);
    if (sent.answer) return sent.answer;
    const again =
      sent.passing && (repeatable || sent.neverArrived === true) && attempt + 1 < triesMax;
    // A first DELETE may have been done before its answer was lost: then nothing is left to delete.
    if (attempt > 0 && call.method === 'DELETE' && sent.error?.code === 'not_found') {
      return new Response(null, { status: 204 });
    }
    if (!again) throw sent.error as HangarError;
    const first = settings.retryMs ?? CALL_RETRY_MS_FIRST;
    await pause(sent.retryAfterMs ?? backoffMs(attempt, first, CALL_RETRY_MS_MAX), call.signal);
  }
}

async function sendOnce(settings: TransportSettings, call: Call): Promise<Sent> {
  const seconds = ANSWER_SECONDS_MAX + (call.waitSeconds ?? 0);
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), seconds * 1000);
  const signal = call.signal ? AbortSignal.any([call.signal, deadline.signal]) : deadline.signal;
  try {
    const answer = await (settings.fetch ?? fetch)(addressOf(settings.url, call), {
      method: call.method,
      headers: headersOf(settings, call),
      body: bodyOf(call),
      signal,
      redirect: 'error',
    });
    if (answer.ok || call.statuses?.includes(answer.status))
      return { answer: call.stream ? answer : await readWhole(answer), passing: false };
    const error = await errorOfAnswer(answer, settings.url);
    return { error, ...laterOf(answer) };
  } catch (cause) {
    if (call.signal?.aborted) throw call.signal.reason;
    if (deadline.signal.aborted) {
      const text = `${settings.url} gave no answer within ${seconds} seconds`;
      return { error: new HangarError('unavailable', text, { cause }), passing: true };
    }
    return {
      error: lineBroke(settings.url, call, cause),
      passing: true,
      neverArrived: causeCode(cause) === 'ECONNREFUSED',
    };
  } finally {
    clearTimeout(timer);
  }
}

async function readWhole(answer: Response): Promise<Response> {
  const bytes = await answer.arrayBuffer();
  // Some statuses may not have a body, not even an empty one.
  const body = bytes.byteLength > 0 ? bytes : null;
  return new Response(body, { status: answer.status, headers: answer.headers });
}

/** 502, 503 and 504 pass by themselves; 429 only when the server says when. */
function laterOf(answer: Response): { passing: boolean; retryAfterMs?: number } {
  const header = answer.headers.get('retry-after');
  const seconds = header === null ? Number.NaN : Number(header);
  const told = Number.isFinite(seconds) && seconds >= 0;
  if (told && seconds > RETRY_AFTER_SECONDS_MAX) return { passing: false };
  const passing = [502, 503, 504].includes(answer.status) || (answer.status === 429 && told);
  return { passing, ...(told ? { retryAfterMs: seconds * 1000 } : {}) };
}

const headersOf = (settings: TransportSettings, call: Call): Record<string, string> => ({
  accept: call.accept ?? 'application/json, application/problem+json',
  ...(settings.token ? { authorization: `Bearer ${settings.token}` } : {}),
  ...(call.text ? { 'content-type': call.text.type } : {}),
  ...(call.body !== undefined ? { 'content-type': 'application/json' } : {}),
  ...(call.idempotencyKey ? { 'idempotency-key': call.idempotencyKey } : {}),
  ...call.headers,
});

const bodyOf = (call: Call): string | null => {
  if (call.text) return call.text.value;
  return call.body === undefined ? null : JSON.stringify(call.body);
};

function addressOf(url: string, call: Call): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) query.set(name, String(value));
  }
  const tail = query.size > 0 ? `?${query.toString()}` : '';
  return `${url.replace(/\/+$/, '')}${call.path}${tail}`;
}

/** Errors of fetch hold the system's own as their cause; `instanceof` would depend on the realm. */
function causeCode(error: unknown): string | undefined {
  const outer = error as { code?: unknown; cause?: { code?: unknown } | null } | null;
  const code = outer?.cause?.code ?? outer?.code;
  return typeof code === 'string' ? code : undefined;
}

function lineBroke(url: string, call: Call, cause: unknown): HangarError {
  const code = causeCode(cause);
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND') {
    return new HangarError('unavailable', `No hangar server answers at ${url} (${code}).`, {
      hint: 'Start one with `npm start`, or name another with --url or HANGAR_URL.',
      cause,
    });
  }
  const why = code ?? String((cause as { message?: unknown } | null)?.message ?? cause);
  return new HangarError(
    'unavailable',
    `The line to ${url} broke during a ${call.method}: ${why}`,
    {
      hint: 'Look at what became of it before trying again.',
      cause,
    },
  );
}
