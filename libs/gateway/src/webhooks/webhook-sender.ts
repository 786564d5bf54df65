import type { Destinations } from './destinations.ts';
import type { TakenDelivery } from './delivery-store.ts';
import { postWebhook } from './post-webhook.ts';
import { signWebhook } from './signature.ts';
import type { WebhookStore } from './webhook-store.ts';

export interface WebhookSenderParts {
  webhooks: WebhookStore;
  destinations: Destinations;
  now(): Date;
}

/** Signs a delivery at the time of the try and posts it; returns the status of the answer. */
export const webhookSender =
  ({ webhooks, destinations, now }: WebhookSenderParts) =>
  async (taken: TakenDelivery, signal: AbortSignal): Promise<number> => {
    const { id, webhookId, owner, sealed, body } = taken;
    const { url, secret } = webhooks.open({ id: webhookId, owner, sealed });
    const timestamp = Math.floor(now().getTime() / 1000);
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'hangar-webhooks',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signWebhook(secret, id, timestamp, body),
    };
    return postWebhook({ url: new URL(url), headers, body }, destinations, signal);
  };
