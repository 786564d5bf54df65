/**
 * Opening a suspended session until it is IDLE, against a checkout of the same tree from objects
 * that are there already. Once with the remote as a path, once as an address, where a clone is a
 * transfer unless hangar's own mirror of the remote has the objects.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  durationRow,
  interleave,
  timed,
  type BenchOptions,
  type Contestant,
  type Row,
} from './bench.ts';
import { smallChange, TRACKED_FILES } from './generated-tree.ts';
import { run } from './processes.ts';
import { openTreeSystem, type TreeSystem } from './tree-system.ts';

const GOAL = { factor: 1.5, extraMs: 1000 };
const WAIT = { waitSeconds: 300 };

export async function benchResume(options: BenchOptions): Promise<Row[]> {
  const tree = await openTreeSystem(options);
  try {
    await tree.openSession('by-path', 'path');
    await tree.openSession('by-address', 'address');
    await tree.untilMirrored();
    const contestants = [resume(tree, 'by-path'), resume(tree, 'by-address'), checkout(tree)];
    const [path = [], address = [], reference = []] = await interleave(contestants, options);
    const files = `${TRACKED_FILES.toLocaleString('en')} files`;
    return [
      durationRow(`resume with ${files}, over their bare checkout`, path, reference, GOAL),
      durationRow('the same from a remote with a local mirror', address, reference, GOAL),
    ];
  } finally {
    await tree.dispose();
  }
}

const resume = (tree: TreeSystem, name: string): Contestant => ({
  prepare: async (round) => {
    await tree.shell(name, smallChange(round));
    const session = await tree.client.sessions.suspend(name, {}, WAIT);
    if (session.state !== 'SUSPENDED') throw new Error(session.state_reason);
  },
  run: async () => {
    const ms = await timed(() => tree.client.sessions.open(name, WAIT));
    const { state, state_reason, continuity } = await tree.client.sessions.get(name);
    if (state !== 'IDLE') throw new Error(`${state}: ${state_reason}`);
    if (continuity?.unstaged.state !== 'kept') throw new Error(JSON.stringify(continuity));
    return ms;
  },
});

const checkout = (tree: TreeSystem): Contestant => {
  const bare = join(tree.place.directory, 'bare');
  return {
    prepare: async () => {
      rmSync(bare, { recursive: true, force: true });
      await run('git', ['clone', '-q', '--shared', '--no-checkout', tree.repository, bare]);
    },
    run: () => timed(() => run('git', ['-C', bare, 'checkout', '-q', 'main'])),
  };
};
