/**
 * A checkpoint of a small change in a large tree against `git status` there: what it takes to see
 * the change is what nobody can save. Once the tool alone, once all the way into the store.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { HEAP_FLAGS } from '../../libs/checkpoints/src/resident-tool.ts';
import { NODE_FLAGS } from '../../libs/checkpoints/src/sandbox-tool.ts';
import { durationRow, interleave, timed, type BenchOptions, type Row } from './bench.ts';
import { IGNORED_FILES, TRACKED_FILES, smallChange } from './generated-tree.ts';
import { run } from './processes.ts';
import { openTreeSystem, type TreeSystem } from './tree-system.ts';

const GOAL = { factor: 2, extraMs: 0 };
const WAIT_SECONDS = 300;
const TOOL = fileURLToPath(new URL('../../dist/tools/hangar-checkpoint.mjs', import.meta.url));
const STATUS = ['status', '--porcelain=v2', '--untracked-files=all'];
/** What a session of some hours has: a few conversation files, a megabyte in all. */
const CONVERSATION_FILES = 4;
const CONVERSATION_BYTES = 256 * 1024;

const inThousands = (count: number): string => `${count / 1000},000`;
const TREE = `${inThousands(TRACKED_FILES)} tracked and ${inThousands(IGNORED_FILES)} ignored files`;

export async function benchCheckpoint(options: BenchOptions): Promise<Row[]> {
  const tree = await openTreeSystem(options);
  try {
    return [...(await benchTool(tree, options)), await benchService(tree, options)];
  } finally {
    await tree.dispose();
  }
}

/** Kept running, as the service does it from a sandbox's second checkpoint on, and by a process each. */
async function benchTool(tree: TreeSystem, options: BenchOptions): Promise<Row[]> {
  const directory = join(tree.place.directory, 'tool');
  const [work, home, out] = ['app', 'home', 'out'].map((name) => join(directory, name));
  if (!work || !home || !out) throw new Error('unreachable');
  await run('git', ['clone', '-q', tree.repository, work]);
  cpSync(join(tree.ignored, 'node_modules'), join(work, 'node_modules'), { recursive: true });
  mkdirSync(join(home, '.claude/projects'), { recursive: true });
  await run('bash', ['-c', conversationScript(join(home, '.claude/projects'))]);
  const request = {
    format: 1,
    checkpoint_id: 'ckp-00000000-1',
    session_id: 'ses-00000000',
    reason: 'manual',
    work,
    home,
    out,
    conversation_directories: ['.claude/projects'],
    base_branch: 'main',
    harness: 'claude-code',
    cwd: work,
    caps: {
      part_bytes_max: 1e9,
      untracked_bytes_max: 1e9,
      file_bytes_max: 1e9,
      unpacked_bytes_max: 1e9,
    },
    zstd: true,
  };
  const resident = startResident();
  const inputOf = (knownBase: string[]): object => ({ ...request, known_base: knownBase });
  const warm = async (knownBase: string[]): Promise<void> =>
    checkReport(await resident.ask(inputOf(knownBase)));
  const cold = async (knownBase: string[]): Promise<void> => {
    const input = JSON.stringify(inputOf(knownBase));
    checkReport(await run(process.execPath, [...NODE_FLAGS, TOOL, 'capture'], { input }));
  };
  await warm([]);
  const meta = JSON.parse(readFileSync(join(out, 'meta.json'), 'utf8')) as {
    prerequisites: string[];
  };
  const change = async (round: number): Promise<void> => {
    await run('bash', ['-c', smallChange(round)], { cwd: work });
    rmSync(out, { recursive: true, force: true });
  };
  const [taken = [], status = [], single = []] = await interleave(
    [
      { prepare: change, run: () => timed(() => warm(meta.prerequisites)) },
      { prepare: change, run: () => timed(() => run('git', ['-C', work, ...STATUS])) },
      {
        prepare: async (round) => {
          await change(round);
          rmSync(join(home, '.hangar/known-files'));
        },
        run: () => timed(() => cold(meta.prerequisites)),
      },
    ],
    options,
  );
  await resident.close();
  rmSync(directory, { recursive: true, force: true });
  const what = `checkpoint of 5 edited and 3 new files among ${TREE}, the tool, over git status`;
  const first = 'the same as the first in a sandbox: a new process, nothing known';
  return [
    durationRow(what, taken, status, GOAL),
    { ...durationRow(first, single, status, GOAL), goal: 'shown, no goal', isMet: true },
  ];
}

const checkReport = (report: string): void => {
  if (!report.includes('"fingerprint"')) throw new Error(report.slice(0, 500));
};

/** `hangar-checkpoint serve` by its pipe, with the flags that the service gives. */
function startResident(): { ask(request: object): Promise<string>; close(): Promise<void> } {
  const child = spawn(process.execPath, [...NODE_FLAGS, ...HEAP_FLAGS, TOOL, 'serve'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let asked = 0;
  return {
    ask: async (request) => {
      asked += 1;
      child.stdin.write(`${JSON.stringify({ id: String(asked), verb: 'capture', request })}\n`);
      return String((await lines.next()).value);
    },
    close: async () => {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}

const conversationScript = (directory: string): string =>
  Array.from(
    { length: CONVERSATION_FILES },
    (_, number) =>
      `head -c ${(CONVERSATION_BYTES * 3) / 4} /dev/urandom | base64 >${directory}/${number}.jsonl`,
  ).join(' && ');

/** `git status` is timed inside the sandbox, so that no way there is counted. */
async function benchService(tree: TreeSystem, options: BenchOptions): Promise<Row> {
  const name = 'bench-checkpoint';
  await tree.openSession(name);
  await tree.addIgnored(name);
  const change = async (round: number): Promise<void> =>
    void (await tree.shell(name, smallChange(round)));
  const clock = `TIMEFORMAT=%R; { time git ${STATUS.join(' ')} >/dev/null; } 2>&1`;
  let taken = (await tree.client.checkpoints.list(name)).items.length;
  const [service = [], status = []] = await interleave(
    [
      {
        prepare: change,
        run: async () => {
          const wait = { waitSeconds: WAIT_SECONDS };
          const ms = await timed(() => tree.client.checkpoints.take(name, wait));
          const { items } = await tree.client.checkpoints.list(name);
          const newest = Math.max(...items.map(({ id }) => Number(id.split('-').at(-1))));
          if (newest <= taken) throw new Error('no checkpoint was taken');
          taken = newest;
          return ms;
        },
      },
      {
        prepare: change,
        run: async () => Number(await tree.shell(name, clock)) * 1000,
      },
    ],
    options,
  );
  const what = 'the same through the service, sealed and stored';
  return durationRow(what, service, status, GOAL);
}
