import type {
  CreateWebhookInput,
  CreatedWebhook,
  DeliveryDocument,
  WebhookDetails,
  WebhookDocument,
  WebhookQuery,
} from '@hangar/contracts';
import type { Transport } from '../http/transport.ts';
import { newIdempotencyKey, segment, type CallOptions } from './call-options.ts';

export interface WebhookCalls {
  /** The answer is the one place where the signing secret is ever shown. */
  create(body: CreateWebhookInput, options?: CallOptions): Promise<CreatedWebhook>;
  list(options?: CallOptions): Promise<{ items: WebhookDocument[] }>;
  /** With its newest deliveries, all or those in one state. */
  get(name: string, query?: WebhookQuery, options?: CallOptions): Promise<WebhookDetails>;
  delete(name: string, options?: CallOptions): Promise<void>;
  /** Sends a test event; `get` shows what became of its delivery. */
  test(name: string, options?: CallOptions): Promise<DeliveryDocument>;
  /** Sends a dead delivery again. */
  redeliver(name: string, delivery: string, options?: CallOptions): Promise<DeliveryDocument>;
}

export function createWebhookCalls(transport: Transport): WebhookCalls {
  const path = '/api/webhooks';
  const of = (name: string, tail = ''): string => `${path}/${segment(name)}${tail}`;
  return {
    create: (body, { signal } = {}) =>
      transport.json({
        method: 'POST',
        path,
        body,
        signal,
        idempotencyKey: newIdempotencyKey(),
      }),
    list: ({ signal } = {}) => transport.json({ method: 'GET', path, signal }),
    get: (name, query = {}, { signal } = {}) =>
      transport.json({ method: 'GET', path: of(name), query: { ...query }, signal }),
    async delete(name, { signal } = {}) {
      await transport.json({ method: 'DELETE', path: of(name), signal });
    },
    test: (name, { signal } = {}) =>
      transport.json({
        method: 'POST',
        path: of(name, '/test'),
        body: {},
        signal,
        idempotencyKey: newIdempotencyKey(),
      }),
    redeliver: (name, delivery, { signal } = {}) =>
      transport.json({ method: 'POST', path: of(name, '/redeliver'), body: { delivery }, signal }),
  };
}
