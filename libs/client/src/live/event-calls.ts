import type { EventDocument } from '@hangar/contracts';
import { sessionPath } from '../calls/call-options.ts';
import type { Transport } from '../http/transport.ts';
import { parseFrame, readEventStream, type EventStreamOptions } from './event-stream.ts';

export type EventOptions = Omit<EventStreamOptions, 'query'>;

export interface EventCalls {
  /**
   * The events of one session (id or name) in order, without gap or repeat, for ever: ends by the
   * signal, whose reason is thrown, or when the server refuses or stays away. `cursor` of the last
   * event seen is what `lastEventId` takes.
   */
  session(ref: string, options?: EventOptions): AsyncGenerator<EventDocument, never, void>;
  /** The same for everything the token's owner may see. */
  all(options?: EventOptions): AsyncGenerator<EventDocument, never, void>;
}

export function createEventCalls(transport: Transport): EventCalls {
  return {
    session: (ref, options = {}) => documents(transport, sessionPath(ref, '/events'), options),
    all: (options = {}) => documents(transport, '/api/events', options),
  };
}

async function* documents(
  transport: Transport,
  path: string,
  options: EventOptions,
): AsyncGenerator<EventDocument, never, void> {
  const frames = readEventStream(transport, path, options);
  try {
    for (;;) {
      const { value } = await frames.next();
      yield { ...parseFrame<EventDocument>(value), cursor: value.id };
    }
  } finally {
    // Hands the end on to the connection; there is no value to return.
    await frames.return(undefined as never);
  }
}
