/**
 * Opening a suspended session until it is IDLE, against a checkout of the same tree from objects
 * that are there already.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { durationRow, interleave, timed, type BenchOptions, type Row } from './bench.ts';
import { smallChange, TRACKED_FILES } from './generated-tree.ts';
import { run } from './processes.ts';
import { openTreeSystem } from './tree-system.ts';

const GOAL = { factor: 1.5, extraMs: 1000 };
const WAIT_SECONDS = 300;

export async function benchResume(options: BenchOptions): Promise<Row[]> {
  const tree = await openTreeSystem(options);
  const name = 'bench-resume';
  const wait = { waitSeconds: WAIT_SECONDS };
  const bare = join(tree.place.directory, 'bare');
  try {
    await tree.openSession(name);
    const [resume = [], checkout = []] = await interleave(
      [
        {
          prepare: async (round) => {
            await tree.shell(name, smallChange(round));
            const session = await tree.client.sessions.suspend(name, {}, wait);
            if (session.state !== 'SUSPENDED') throw new Error(session.state_reason);
          },
          run: async () => {
            const ms = await timed(() => tree.client.sessions.open(name, wait));
            const { state, state_reason } = await tree.client.sessions.get(name);
            if (state !== 'IDLE') throw new Error(`${state}: ${state_reason}`);
            return ms;
          },
        },
        {
          prepare: async () => {
            rmSync(bare, { recursive: true, force: true });
            await run('git', ['clone', '-q', '--shared', '--no-checkout', tree.repository, bare]);
          },
          run: () => timed(() => run('git', ['-C', bare, 'checkout', '-q', 'main'])),
        },
      ],
      options,
    );
    const files = TRACKED_FILES.toLocaleString('en');
    const what = `resume of a session with ${files} files (${tree.place.kind}), over their checkout`;
    return [durationRow(what, resume, checkout, GOAL)];
  } finally {
    await tree.dispose();
  }
}
