import type { SessionEvents } from '@hangar/contracts';
import {
  createConsumer,
  type Consumer,
  type EventStore,
  type LogConnection,
  type RecordedEvent,
  type Transaction,
} from '@hangar/messaging';
import { eventSubjects } from '@hangar/messaging/jetstream';
import { ask } from './ask.ts';
import type { DeliveryStore } from './delivery-store.ts';
import { webhookEventOf, webhookPayload, type Heard } from './webhook-payload.ts';
import type { WebhookStore } from './webhook-store.ts';

export interface WebhookConsumerParts {
  log: Pick<LogConnection, 'pool' | 'nats'>;
  store: EventStore;
  webhooks: WebhookStore;
  deliveries: DeliveryStore;
  /** Told after the commit that there is something to send. */
  onWritten(): void;
  onError(error: unknown): void;
}

/** Streams worked on at once: it writes a few rows, and shares its connections with requests. */
const CONCURRENCY = 2;

const NAME = `select data ->> 'name' as name from es.event
  where stream_id = $1 and version <= $2 and type in ('SessionCreated', 'SessionRenamed')
  order by version desc limit 1`;
const RAISED = `select data from es.event
  where stream_id = $1 and version < $2 and type = 'AttentionRaised' and data ->> 'card_id' = $3
  order by version desc limit 1`;

/** Writes what is to be sent, together with the mark that says that the event was seen. */
export function createWebhookConsumer(parts: WebhookConsumerParts): Consumer {
  const { log, store, onError } = parts;
  return createConsumer({
    name: 'gateway-webhooks',
    pool: log.pool,
    nats: log.nats,
    filter: eventSubjects('session'),
    readStream: store.readStream,
    concurrency: CONCURRENCY,
    handle: (event, tx) => writeDeliveries(parts, event, tx),
    onError,
  });
}

export async function writeDeliveries(
  { store, webhooks, deliveries, onWritten }: WebhookConsumerParts,
  event: RecordedEvent,
  tx: Transaction,
): Promise<void> {
  const wanted = webhookEventOf(event.type);
  if (wanted === null) return;
  const [created] = await store.readStream(event.stream, 1, 1, tx);
  const owner = created?.data['owner'];
  if (typeof owner !== 'string') return;
  const wanting = await webhooks.wanting(tx, owner, wanted, event.position);
  if (wanting.length === 0) return;
  const heard = event as unknown as Heard;
  const [named] = await ask<{ name: string }>(tx, NAME, [event.stream, event.version]);
  const session = { id: event.stream.slice('session/'.length), name: named?.name ?? '', owner };
  const payload = webhookPayload(heard, event.at, session, await raisedBy(heard, event, tx));
  if (!payload) return;
  const body = JSON.stringify(payload);
  for (const webhookId of wanting) {
    const { type } = payload;
    await deliveries.add(tx, { webhookId, owner, eventId: event.id, type, body });
  }
  tx.onCommit(onWritten);
}

/** What raised the card that this event says is cleared. */
async function raisedBy(
  heard: Heard,
  { stream, version }: RecordedEvent,
  tx: Transaction,
): Promise<SessionEvents['AttentionRaised'] | undefined> {
  if (heard.type !== 'AttentionCleared') return undefined;
  const values = [stream, version, heard.data.card_id];
  return (await ask<{ data: SessionEvents['AttentionRaised'] }>(tx, RAISED, values))[0]?.data;
}
