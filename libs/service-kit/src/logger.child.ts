/** Logs to the real standard output, once as JSON or once for a terminal. */
import { createLogger } from './logger.ts';

if (process.argv[2] === 'terminal') process.stdout.isTTY = true;
const logger = createLogger({ service: 'test', level: 'info' });
logger.info({ session_id: 'ses-1', nested: { a: 1 } }, 'first');
logger.error({ err: new Error(`bad ghp_${'a1'.repeat(18)}`) }, 'second');
process.exit(0);
