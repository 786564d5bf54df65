/**
 * A hangar turn, checkpoint included, against the bare CLI on the same scripted model: both go on
 * with a conversation of the same length in a repository of their own.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { installHarness } from '@hangar/harness-adapters';
import { HARNESS_CACHE, System } from '../../apps/standalone/e2e/system.ts';
import {
  defineEnvironment,
  openWorkplace,
  type Workplace,
} from '../../apps/standalone/e2e/workplace.ts';
import { durationRow, interleave, timed, type BenchOptions, type Row } from './bench.ts';
import { run } from './processes.ts';

const GOAL = { factor: 1.25, extraMs: 300 };
const WAIT_SECONDS = 120;
const MODEL = 'claude-sonnet-4-5';

/** Two tool calls and a last word: what a small change takes. */
const message = (round: number): string =>
  `[[ run: echo ${round} >> a.txt ;; run: echo ${round} > u${round}.txt ;; say: done ${round} ]]`;

export async function benchTurn(options: BenchOptions): Promise<Row[]> {
  const pi = join(await installHarness('pi', HARNESS_CACHE, options.say), 'bin/pi');
  const work = await openWorkplace();
  const bare = await openBare(work, pi);
  const system = await System.start();
  try {
    const client = system.client();
    await defineEnvironment(client, work);
    const name = 'bench-turn';
    const body = { name, environment: 'default', harness: 'pi', model: MODEL, repo: work.repo };
    await client.sessions.create({ ...body, idle_minutes: 30 }, { waitSeconds: WAIT_SECONDS });
    const [hangar = [], cli = []] = await interleave(
      [
        {
          run: (round) =>
            timed(async () => {
              const session = await client.sessions.sendAndWait(
                name,
                { message: message(round) },
                { waitSeconds: WAIT_SECONDS },
              );
              const turn = session.turns.at(-1);
              if (session.state !== 'IDLE' || turn?.outcome !== 'succeeded' || !turn.checkpoint_id)
                throw new Error(`the turn ended ${turn?.outcome}, the session ${session.state}`);
            }),
        },
        { run: (round) => timed(() => bare.turn(message(round))) },
      ],
      options,
    );
    return [durationRow('a turn with its checkpoint, over the bare CLI (pi)', hangar, cli, GOAL)];
  } finally {
    await system.dispose();
    bare.dispose();
    await work.dispose();
  }
}

interface Bare {
  turn(prompt: string): Promise<void>;
  dispose(): void;
}

/** pi as a person runs it, in a clone and a HOME of its own. */
async function openBare(work: Workplace, pi: string): Promise<Bare> {
  const directory = mkdtempSync(join(tmpdir(), 'hangar-bench-bare-'));
  const home = join(directory, 'home');
  const models = join(home, '.pi/agent/models.json');
  mkdirSync(dirname(models), { recursive: true });
  const baseUrl = work.envVars['ANTHROPIC_BASE_URL'];
  writeFileSync(models, JSON.stringify({ providers: { anthropic: { baseUrl } } }));
  const cwd = join(directory, 'app');
  await run('git', ['clone', '-q', work.repo, cwd]);
  const id = randomUUID();
  const choice = ['--provider', 'anthropic', '--model', MODEL];
  const env = {
    ...work.envVars,
    PATH: process.env['PATH'],
    HOME: home,
    PI_OFFLINE: '1',
    PI_TELEMETRY: '0',
    PI_SKIP_VERSION_CHECK: '1',
  };
  return {
    turn: async (prompt) => {
      const args = [pi, ...choice, '--session-id', id, '-p'];
      const out = await run(process.execPath, args, { cwd, env, input: prompt });
      if (!out.includes('done')) throw new Error(`pi said: ${out}`);
    },
    dispose: () => rmSync(directory, { recursive: true, force: true }),
  };
}
