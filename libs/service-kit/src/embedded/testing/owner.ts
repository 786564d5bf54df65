/** A process that owns both servers, for the test that kills it. */
import { startNats } from '../nats.ts';
import { startPostgres } from '../postgres.ts';

const [directory = '', password = ''] = process.argv.slice(2);
const postgres = await startPostgres({ directory, port: 0, password });
const nats = await startNats({ directory: `${directory}/nats`, port: 0, user: 'u', password: 'p' });
process.send?.([postgres.pid, nats.pid]);
setInterval(() => undefined, 60_000);
