import { HangarError } from '@hangar/contracts';
import { errorOfAnswer } from '../http/answer-error.ts';
import type { Transport } from '../http/transport.ts';
import { createEventLineReader } from '../live/event-lines.ts';
import type { CallOptions } from './call-options.ts';

export interface McpCalls {
  /**
   * Passes one message of an MCP client on, as JSON text, and gives the messages for it that come
   * back, until the last. Never sent twice. Throws HangarError where the server refuses the caller.
   */
  pass(
    message: string,
    headers: Record<string, string>,
    options?: CallOptions,
  ): AsyncGenerator<string>;
}

/** Refusals by the protocol come with these, and with a message that is the client's to read. */
const PROTOCOL_STATUSES = [400, 404, 405, 406, 409, 415];

export function createMcpCalls(transport: Transport): McpCalls {
  return {
    async *pass(message, headers, options = {}) {
      const answer = await transport.send({
        method: 'POST',
        path: '/mcp',
        text: { type: 'application/json', value: message },
        accept: 'application/json, text/event-stream',
        headers,
        statuses: PROTOCOL_STATUSES,
        stream: true,
        signal: options.signal,
      });
      const type = answer.headers.get('content-type') ?? '';
      if (type.startsWith('text/event-stream')) {
        yield* eventsOf(answer.body, transport.url);
        return;
      }
      if (!answer.ok && !type.startsWith('application/json')) {
        throw await errorOfAnswer(answer, transport.url);
      }
      const text = await answer.text();
      if (text !== '') yield text;
    },
  };
}

async function* eventsOf(
  body: ReadableStream<Uint8Array> | null,
  url: string,
): AsyncGenerator<string> {
  const reader = createEventLineReader();
  const decoder = new TextDecoder();
  try {
    for await (const piece of body ?? []) {
      for (const { text } of reader.push(decoder.decode(piece, { stream: true }))) yield text;
    }
  } catch (cause) {
    if (cause instanceof HangarError) throw cause;
    throw new HangarError('unavailable', `The line to ${url} broke before the answer`, {
      hint: 'What was asked may be done: look at the session before trying again.',
      cause,
    });
  }
}
