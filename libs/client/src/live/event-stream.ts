import { HangarError } from '@hangar/contracts';
import {
  STREAM_RETRY_MS_FIRST,
  STREAM_RETRY_MS_MAX,
  STREAM_SILENCE_SECONDS_MAX,
  STREAM_TRIES_MAX,
} from '../bounds.ts';
import { backoffMs, pause } from '../http/pause.ts';
import { either, type Query, type Transport } from '../http/transport.ts';
import { createEventLineReader, type EventFrame } from './event-lines.ts';

export interface EventStreamOptions {
  /** Where to go on: the id of the last event seen. `0` is the beginning; left out, now. */
  lastEventId?: string | undefined;
  query?: Query;
  signal?: AbortSignal | undefined;
  /** Told of each reconnect, with the reason; for a person who looks on. */
  onReconnect?: ((reason: string) => void) | undefined;
  /** Told each time the server has answered and the line is open, before its first event. */
  onConnect?: (() => void) | undefined;
  /** Pause between tries and silence that counts as dead; tests shorten them. */
  retryMs?: number;
  silenceSeconds?: number;
}

/**
 * The frames of an event stream in order, without gap or repeat: it comes back by itself with
 * Last-Event-ID. Ends only by the signal (its reason is thrown), by a refusal of the server, or
 * with `unavailable` after STREAM_TRIES_MAX tries in a row that brought nothing.
 */
export async function* readEventStream(
  transport: Transport,
  path: string,
  given: EventStreamOptions,
): AsyncGenerator<EventFrame, never, void> {
  const options = { ...given, signal: either(transport.signal, given.signal) };
  let lastId = options.lastEventId ?? '';
  let retryMs: number | null = null;
  for (let fruitless = 0; ;) {
    options.signal?.throwIfAborted();
    let reason: string;
    try {
      const reader = createEventLineReader(lastId);
      for await (const text of readPieces(transport, path, lastId, options)) {
        // Any byte shows that the line works, a heartbeat too.
        fruitless = 0;
        for (const frame of reader.push(text)) {
          lastId = frame.id;
          yield frame;
        }
        // Also where there was an id and nothing to read: the place that was reached.
        lastId = reader.lastId;
        retryMs = reader.retryMs ?? retryMs;
      }
      reason = 'the server closed the stream';
    } catch (error) {
      if (options.signal?.aborted) throw options.signal.reason;
      if (!(error instanceof HangarError) || error.code !== 'unavailable') throw error;
      if (fruitless + 1 >= STREAM_TRIES_MAX) throw error;
      reason = error.message;
    }
    options.onReconnect?.(reason);
    const first = options.retryMs ?? retryMs ?? STREAM_RETRY_MS_FIRST;
    await pause(backoffMs(fruitless, first, STREAM_RETRY_MS_MAX), options.signal);
    fruitless += 1;
    if (fruitless >= STREAM_TRIES_MAX) {
      throw new HangarError('unavailable', `No event stream from ${transport.url}: ${reason}`);
    }
  }
}

/** What a frame says. Throws `internal` when it is not JSON. */
export function parseFrame<Document>({ text }: EventFrame): Document {
  try {
    return JSON.parse(text) as Document;
  } catch (cause) {
    throw new HangarError('internal', 'The server sent an event that is not JSON', { cause });
  }
}

/** The text of one connection; ends when the server ends it, throws `unavailable` when it breaks. */
async function* readPieces(
  transport: Transport,
  path: string,
  lastId: string,
  options: EventStreamOptions,
): AsyncGenerator<string, void, void> {
  const dead = new AbortController();
  const silenceMs = (options.silenceSeconds ?? STREAM_SILENCE_SECONDS_MAX) * 1000;
  const signal = options.signal ? AbortSignal.any([options.signal, dead.signal]) : dead.signal;
  const answer = await transport.send({
    method: 'GET',
    path,
    query: options.query,
    accept: 'text/event-stream',
    headers: lastId === '' ? {} : { 'last-event-id': lastId },
    stream: true,
    tries: 1,
    signal,
  });
  options.onConnect?.();
  const reader = (answer.body ?? emptyBody()).getReader();
  const decoder = new TextDecoder();
  let timer = setTimeout(() => dead.abort(), silenceMs);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => dead.abort(), silenceMs);
      yield decoder.decode(value, { stream: true });
    }
  } catch (cause) {
    if (options.signal?.aborted) throw options.signal.reason;
    if (cause instanceof HangarError) throw cause;
    const why = dead.signal.aborted ? 'it fell silent' : 'it broke';
    throw new HangarError('unavailable', `The event stream of ${transport.url} ended: ${why}`, {
      cause,
    });
  } finally {
    clearTimeout(timer);
    await reader.cancel().catch(() => undefined); // The reader leaves: nobody is left to tell.
  }
}

const emptyBody = (): ReadableStream<Uint8Array> =>
  new ReadableStream({ start: (controller) => controller.close() });
