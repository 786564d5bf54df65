import {
  AckPolicy,
  DeliverPolicy,
  JetStreamApiCodes,
  type JetStreamManager,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { findStream, isApiError } from './jetstream/event-stream.ts';

/** Messages that the server lets a consumer hold without an ack, over all replicas. */
export const ACK_PENDING_MAX = 256;
export const ACK_WAIT_MS = 30_000;

export interface DurableOptions {
  name: string;
  filter: string;
  ackWaitMs?: number;
}

/** Makes the durable, or brings it up to date; one that is stuck is made anew. */
export async function ensureDurable(
  manager: JetStreamManager,
  stream: string,
  options: DurableOptions,
): Promise<void> {
  const { name, filter, ackWaitMs = ACK_WAIT_MS } = options;
  if (await isDurableStuck(manager, stream, name)) await manager.consumers.delete(stream, name);
  await manager.consumers.add(stream, {
    durable_name: name,
    filter_subject: filter,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    ack_wait: nanos(ackWaitMs),
    max_ack_pending: ACK_PENDING_MAX,
    // For ever: a limit would make the server step over an event and apply later ones.
    max_deliver: -1,
  });
}

/**
 * After a crash a durable can stand behind the end of its stream: old servers then deliver
 * nothing until the stream has grown past that place, and report no error.
 */
export async function isDurableStuck(
  manager: JetStreamManager,
  stream: string,
  name: string,
): Promise<boolean> {
  try {
    const durable = await manager.consumers.info(stream, name);
    const found = await findStream(manager, stream);
    return found !== undefined && durable.delivered.stream_seq > found.state.last_seq;
  } catch (error) {
    if (isApiError(error, JetStreamApiCodes.ConsumerNotFound)) return false;
    throw error;
  }
}
