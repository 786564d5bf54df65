import { addAbortSignal, type Readable } from 'node:stream';

/**
 * The bytes of a put, in order, whatever form they came in. An aborted signal ends a source that
 * is silent, and the reason of the abort is what is thrown. The listener is set before the first
 * await of the caller, for an `error` event without a listener would end the process.
 */
export function blobSource(
  body: Readable | Uint8Array,
  signal: AbortSignal | undefined,
): AsyncIterable<Uint8Array> {
  if (!(body instanceof Uint8Array)) {
    body.on('error', () => undefined);
    if (signal && !signal.aborted) addAbortSignal(signal, body);
  }
  return read(body, signal);
}

async function* read(
  body: Readable | Uint8Array,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  signal?.throwIfAborted();
  if (body instanceof Uint8Array) {
    yield body;
    return;
  }
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array | string>) {
      signal?.throwIfAborted();
      yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
