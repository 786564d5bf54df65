/**
 * What hangar costs, as ratios inside one run, because absolute numbers move with the machine.
 * Run: npm run bench [-- name...] [--rounds=5] [--seed=1]
 */
import { describeMachine } from './machine.ts';
import { benchCheckpoint } from './checkpoint.ts';
import { benchEventLog } from './event-log.ts';
import { benchLive } from './live.ts';
import { benchResume } from './resume.ts';
import { benchStart } from './start.ts';
import { benchTurn } from './turn.ts';
import type { Bench, Row } from './bench.ts';

const BENCHES: Record<string, Bench> = {
  'event-log': benchEventLog,
  turn: benchTurn,
  live: benchLive,
  checkpoint: benchCheckpoint,
  resume: benchResume,
  start: benchStart,
};
const ROUNDS_DEFAULT = 5;
const SEED_DEFAULT = 20_261_130;

const flags = new Map<string, string>();
const names: string[] = [];
for (const argument of process.argv.slice(2)) {
  const [, flag, value] = /^--([a-z]+)=(\d+)$/.exec(argument) ?? [];
  if (flag !== undefined && value !== undefined) flags.set(flag, value);
  else names.push(argument);
}
const unknown = [
  ...names.filter((name) => !BENCHES[name]),
  ...[...flags.keys()].filter((flag) => flag !== 'rounds' && flag !== 'seed'),
];
if (unknown.length > 0) {
  const known = Object.keys(BENCHES).join(', ');
  console.error(`unknown: ${unknown.join(', ')}\nusage: npm run bench -- [--rounds=N] [--seed=N]`);
  console.error(`  and any of: ${known}`);
  process.exit(2);
}

const rounds = Number(flags.get('rounds') ?? ROUNDS_DEFAULT);
const seed = Number(flags.get('seed') ?? SEED_DEFAULT);
const rows: Row[] = [];
const machine = describeMachine();
for (const [name, bench] of Object.entries(BENCHES)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const say = (text: string): void => void process.stderr.write(`${name}: ${text}\n`);
  try {
    rows.push(...(await bench({ rounds, seed, say })));
  } catch (error) {
    // The others are still worth knowing.
    say(`failed: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}

const day = new Date().toISOString().slice(0, 10);
console.log(`${day}, seed ${seed}, medians of ${rounds} interleaved rounds\n${machine}\n`);
const cells = [
  ['what', 'measured', 'reference', 'ratio', 'goal', ''],
  ['---', '---', '---', '---', '---', '---'],
  ...rows.map(({ what, measured, reference, ratio, goal, isMet }) => [
    what,
    measured,
    reference,
    ratio,
    goal,
    isMet ? 'met' : 'MISSED',
  ]),
];
for (const line of cells) console.log(`| ${line.join(' | ')} |`);
