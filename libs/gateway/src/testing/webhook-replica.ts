/**
 * A runner of deliveries in a process of its own, for a test that kills it while it sends. It
 * knows the one receiver's address: unsealing needs a lib that Node cannot run from its source.
 */
import pg from 'pg';
import { DeliveryRunner } from '../webhooks/delivery-runner.ts';
import { DeliveryStore } from '../webhooks/delivery-store.ts';
import { createDestinations } from '../webhooks/destinations.ts';
import { postWebhook } from '../webhooks/post-webhook.ts';

const [databaseUrl, receiverUrl = ''] = process.argv.slice(2);
process.on('disconnect', () => process.exit(0));
const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 });
pool.on('error', () => undefined);
const now = (): Date => new Date();
const destinations = createDestinations({ allowsPrivate: true });
new DeliveryRunner({
  pool,
  deliveries: new DeliveryStore(now),
  send: ({ id, body }, signal) =>
    postWebhook(
      { url: new URL(receiverUrl), headers: { 'webhook-id': id }, body },
      destinations,
      signal,
    ),
  now,
  onError: (error) => console.error(error),
}).start();
