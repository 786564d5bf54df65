/**
 * One replica of a consumer in a process of its own, for tests that kill it. It writes what it
 * applies into a table without a unique key, so that anything applied twice shows.
 */
import { connect } from '@nats-io/transport-node';
import pg from 'pg';
import { createConsumer } from '../consumer.ts';
import { eventSubjects } from '../jetstream/subjects.ts';
import { sampleStore } from './sample.ts';

const [replica, databaseUrl, natsUrl, user, pass] = process.argv.slice(2);
process.on('disconnect', () => process.exit(0));
const pool = new pg.Pool({ connectionString: databaseUrl, max: 6 });
pool.on('error', () => undefined);
const nats = await connect({
  ...(natsUrl ? { servers: natsUrl } : {}),
  ...(user ? { user } : {}),
  ...(pass ? { pass } : {}),
  maxReconnectAttempts: -1,
  reconnectTimeWait: 50,
});
createConsumer({
  name: 'chaos',
  pool,
  nats,
  filter: eventSubjects('session'),
  readStream: sampleStore(pool).readStream,
  ackWaitMs: 2000,
  watchdogMs: 1000,
  handle: async (event, tx) => {
    await tx.query('insert into applied (stream, version, replica) values ($1, $2, $3)', [
      event.stream,
      event.version,
      replica,
    ]);
  },
}).start();
