/** An effect runner in a process of its own, for tests that kill it in the middle of its work. */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createEffectRunner } from '../effects.ts';
import { createLocalWake } from '../wake.ts';

const [instance = '', databaseUrl] = process.argv.slice(2);
process.on('disconnect', () => process.exit(0));
const pool = new pg.Pool({ connectionString: databaseUrl, max: 6 });
pool.on('error', () => undefined);

/** `effect_log` shows who held which key when; the work itself takes 30 to 90 ms. */
createEffectRunner({
  pool,
  wake: createLocalWake(),
  instance,
  concurrency: 3,
  leaseMs: 1000,
  heartbeatMs: 200,
  sweepMs: 50,
  kinds: {
    work: async (effect) => {
      const begun = await pool.query<{ n: number }>(
        `insert into effect_log (key, instance, begun) values ($1, $2, clock_timestamp())
         returning n`,
        [effect.key, `${instance}/${process.pid}`],
      );
      await delay(30 + Math.random() * 60);
      await pool.query('update effect_log set ended = clock_timestamp() where n = $1', [
        begun.rows[0]?.n,
      ]);
    },
  },
}).start();
