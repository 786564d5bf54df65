import { once } from 'node:events';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { context } from '@opentelemetry/api';
import { suppressTracing } from '@opentelemetry/core';
import type { Destinations } from './destinations.ts';

/** Of an answer's body, which nobody here reads: it is taken in so that the receiver can end. */
const ANSWER_BYTES_MAX = 64 * 1024;

export interface WebhookPost {
  url: URL;
  headers: Record<string, string>;
  body: string;
}

/**
 * One request, on a connection of its own, to an address that was checked; redirects are not
 * followed. Returns the status; throws when there is none before `signal` ends it.
 */
export async function postWebhook(
  post: WebhookPost,
  destinations: Destinations,
  signal: AbortSignal,
): Promise<number> {
  // A host that is an address is never looked up.
  destinations.check(post.url);
  const request = post.url.protocol === 'https:' ? requestHttps : requestHttp;
  // Not traced: a span would carry the address, which may be a secret, and a header of ours out.
  const sent = context.with(suppressTracing(context.active()), () =>
    request(post.url, {
      method: 'POST',
      headers: { ...post.headers, 'content-length': Buffer.byteLength(post.body) },
      agent: false,
      lookup: destinations.lookup,
      signal,
    }),
  );
  // Also after the answer: a receiver that cuts the connection then is not a failure.
  sent.on('error', () => undefined);
  sent.end(post.body);
  const [answer] = (await once(sent, 'response', { signal })) as [IncomingMessage];
  await takeIn(answer);
  return answer.statusCode ?? 0;
}

async function takeIn(answer: IncomingMessage): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of answer) {
      bytes += (chunk as Buffer).byteLength;
      if (bytes > ANSWER_BYTES_MAX) return;
    }
  } catch {
    // The status has been given; what came after it does not matter.
  } finally {
    answer.destroy();
  }
}
