/** How long the standalone process takes to be ready with data present, and its memory then. */
import { readFileSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { System } from '../../apps/standalone/e2e/system.ts';
import { defineEnvironment, openWorkplace } from '../../apps/standalone/e2e/workplace.ts';
import { interleave, median, shownMs, timed, type BenchOptions, type Row } from './bench.ts';

const START_MS_MAX = 3000;
const RSS_MIB_MAX = 350;
const SESSIONS = 5;
const WAIT_SECONDS = 60;
/** As `npm start` does it. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL('../../tmp/compile-cache', import.meta.url));

export async function benchStart(options: BenchOptions): Promise<Row[]> {
  const work = await openWorkplace();
  const system = await System.start({ envVars: { NODE_COMPILE_CACHE } });
  const rssMib: number[] = [];
  try {
    const client = system.client();
    await defineEnvironment(client, work);
    for (let number = 0; number < SESSIONS; number += 1) {
      const body = { name: `kept-${number}`, environment: 'default', harness: 'fake' };
      await client.sessions.create(
        { ...body, repo: work.repo, message: 'say hello' },
        { waitSeconds: WAIT_SECONDS },
      );
    }
    const [start = []] = await interleave(
      [
        {
          prepare: () => system.stop(),
          run: async () => {
            const ms = await timed(() => system.up());
            rssMib.push(residentMib(system.state));
            return ms;
          },
        },
      ],
      options,
    );
    return [
      {
        what: `start of the standalone process, ${SESSIONS} sessions present`,
        measured: shownMs(median(start)),
        reference: '',
        ratio: '',
        goal: `<= ${START_MS_MAX / 1000} s`,
        isMet: median(start) <= START_MS_MAX,
      },
      {
        what: 'its memory (RSS) once it is ready',
        measured: `${median(rssMib).toFixed(0)} MiB`,
        reference: '',
        ratio: '',
        goal: `<= ${RSS_MIB_MAX} MiB`,
        isMet: median(rssMib) <= RSS_MIB_MAX,
      },
    ];
  } finally {
    await system.dispose();
    await work.dispose();
  }
}

function residentMib(state: string): number {
  // The lock names its holder: `<pid>:<start time>`.
  const pid = readlinkSync(`${state}/lock`).split(':')[0] ?? '';
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}
