import type { EventStore, LogConnection } from '@hangar/messaging';
import { systemClock, type Vault } from '@hangar/service-kit';
import type { AccessLog } from '../auth/access-log.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { DeliveryRunner } from './delivery-runner.ts';
import { DeliveryStore } from './delivery-store.ts';
import { createDestinations } from './destinations.ts';
import { createWebhookConsumer } from './webhook-consumer.ts';
import { webhookSender } from './webhook-sender.ts';
import { WebhookStore } from './webhook-store.ts';
import { WebhooksService } from './webhooks.service.ts';

export interface WebhooksDependencies {
  log: LogConnection;
  store: EventStore;
  vault: Vault;
  access: AccessLog;
  idempotency: Idempotency;
  /** HANGAR_WEBHOOK_PRIVATE. */
  allowsPrivate: boolean;
  world?: WebhookWorld;
  onError(error: unknown): void;
}

/** Time and names from elsewhere than the system. */
export interface WebhookWorld {
  now?(): Date;
  deadline?(): AbortSignal;
  resolve?(host: string): Promise<string[]>;
}

/** The routes' service, the consumer that writes what is to be sent, and the runner that sends it. */
export interface Webhooks {
  service: WebhooksService;
  runner: DeliveryRunner;
  start(): void;
  stop(): Promise<void>;
}

export function createWebhooks(dependencies: WebhooksDependencies): Webhooks {
  const { log, store, vault, access, idempotency, world = {}, onError } = dependencies;
  const { pool } = log;
  const now = world.now ?? ((): Date => systemClock.now());
  const destinations = createDestinations({
    allowsPrivate: dependencies.allowsPrivate,
    ...(world.resolve && { resolve: world.resolve }),
  });
  const webhooks = new WebhookStore(vault);
  const deliveries = new DeliveryStore(now);
  const runner = new DeliveryRunner({
    pool,
    deliveries,
    send: webhookSender({ webhooks, destinations, now }),
    now,
    ...(world.deadline && { deadline: world.deadline }),
    onError,
  });
  const wake = (): void => runner.wake();
  const parts = { pool, store, webhooks, deliveries, destinations, idempotency };
  const consumer = createWebhookConsumer({
    log,
    store,
    webhooks,
    deliveries,
    onWritten: wake,
    onError,
  });
  return {
    service: new WebhooksService({ ...parts, log: access, now, wake }),
    runner,
    start: () => {
      // After a rotation the older vault key is needed until this is done; it can be repeated.
      void webhooks.reseal(pool).catch(onError);
      consumer.start();
      runner.start();
    },
    stop: async () => {
      await Promise.all([consumer.stop(), runner.stop()]);
    },
  };
}
