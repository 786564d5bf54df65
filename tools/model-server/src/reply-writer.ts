/** How one reply goes out, the same for every API; one implementation per wire format. */
import type { ServerResponse } from 'node:http';
import type { Api } from './conversation.ts';
import type { ToolCall } from './plan.ts';

/** Every reply costs the same, so that tests can add up. Tokens. */
export const USAGE = { input: 1000, cacheRead: 200, cacheWrite: 30, output: 50 } as const;

export interface ReplyWriter {
  open(): void;
  think(text: string): void;
  text(text: string): void;
  /** Text whose block is never finished: what a cut connection leaves. */
  partialText(text: string): void;
  call(call: ToolCall): void;
  /** Ends the reply: the closing events of a stream, or the whole body. */
  end(): void;
}

export interface ReplyTarget {
  response: ServerResponse;
  model: string;
  stream: boolean;
  /** Unique also across restarts: ids of messages and calls are made from it. */
  id: string;
}

export const EVENT_STREAM = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };
export const JSON_BODY = { 'content-type': 'application/json' };

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, JSON_BODY);
  response.end(JSON.stringify(body));
}

/** Words with their spaces, as a model streams them; at most 64 pieces. */
export function pieces(text: string): string[] {
  const words = text.match(/\S+\s*|\s+/g) ?? [''];
  const size = Math.ceil(words.length / 64);
  const found: string[] = [];
  for (let index = 0; index < words.length; index += size) {
    found.push(words.slice(index, index + size).join(''));
  }
  return found;
}

const GOOGLE_ERRORS: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
};

const ANTHROPIC_ERRORS: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

/** The provider's own form of an HTTP error, with the reset time where it would say one. */
export function sendError(
  api: Api,
  response: ServerResponse,
  status: number,
  resetsAtSeconds: number | null = null,
): void {
  const message = `scripted error ${status}`;
  if (api === 'anthropic') {
    if (resetsAtSeconds !== null) {
      response.setHeader('anthropic-ratelimit-unified-status', 'rejected');
      response.setHeader('anthropic-ratelimit-unified-reset', String(resetsAtSeconds));
      response.setHeader('anthropic-ratelimit-unified-representative-claim', 'five_hour');
    }
    const type = ANTHROPIC_ERRORS[status] ?? 'api_error';
    return sendJson(response, status, { type: 'error', error: { type, message } });
  }
  if (api === 'google') {
    const error = { code: status, message, status: GOOGLE_ERRORS[status] ?? 'INTERNAL' };
    return sendJson(response, status, { error });
  }
  const limited = resetsAtSeconds !== null;
  const type = limited
    ? 'usage_limit_reached'
    : status < 500
      ? 'invalid_request_error'
      : 'server_error';
  const code = status === 401 ? 'invalid_api_key' : status === 429 ? 'rate_limit_exceeded' : null;
  const resets = limited ? { resets_at: resetsAtSeconds, plan_type: 'pro' } : {};
  sendJson(response, status, { error: { type, code, message, ...resets } });
}
