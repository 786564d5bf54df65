import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { decodeEvent } from '../jetstream/envelope.ts';
import { findStream } from '../jetstream/event-stream.ts';
import { EVENT_STREAM } from '../jetstream/subjects.ts';

/** `stream@version` of every message that JetStream holds, in its order. */
export async function readBus(nats: NatsConnection): Promise<string[]> {
  const found = await findStream(await jetstreamManager(nats), EVENT_STREAM);
  const total = found?.state.messages ?? 0;
  if (total === 0) return [];
  const consumer = await jetstream(nats).consumers.get(EVENT_STREAM);
  const read: string[] = [];
  const messages = await consumer.consume({ max_messages: 500 });
  for await (const message of messages) {
    const event = decodeEvent({ headers: message.headers, string: () => message.string() });
    read.push(`${event.stream}@${event.version}`);
    if (read.length === total) break;
  }
  await messages.close();
  return read;
}

/** Messages on the bus; 0 also when the server cannot be asked right now. */
export async function countBus(nats: NatsConnection): Promise<number> {
  try {
    const manager = await jetstreamManager(nats, { timeout: 500 });
    return (await findStream(manager, EVENT_STREAM))?.state.messages ?? 0;
  } catch (error) {
    if (error instanceof Error) return 0;
    throw error;
  }
}
