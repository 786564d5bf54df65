/**
 * How soon a client has what the harness writes, against a plain read of its output: the fake harness
 * writes its own clock, which is the machine's, and both readers compare it with theirs.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { HangarClient } from '@hangar/client';
import { System } from '../../apps/standalone/e2e/system.ts';
import { defineEnvironment, openWorkplace, shell } from '../../apps/standalone/e2e/workplace.ts';
import { median, shownMs, type BenchOptions, type Row } from './bench.ts';

const P95_MS_MAX = 200;
/** Of each reader in a round; five rounds give 200. */
const SAMPLES = 40;
const WAIT_SECONDS = 60;
const HARNESS = fileURLToPath(
  new URL('../../libs/harness-adapters/src/fake/fake-harness.mjs', import.meta.url),
);

export async function benchLive(options: BenchOptions): Promise<Row[]> {
  const work = await openWorkplace();
  const system = await System.start();
  const [live, bare]: [number[], number[]] = [[], []];
  try {
    const client = system.client();
    await defineEnvironment(client, work);
    const body = { name: 'bench-live', environment: 'default', harness: 'fake' };
    await client.sessions.create(body, { waitSeconds: WAIT_SECONDS });
    for (let round = 0; round <= options.rounds; round += 1) {
      const readers = [
        async () => live.push(...counted(round, await readLive(client, body.name, round))),
        async () => bare.push(...counted(round, await readPipe())),
      ];
      for (const read of round % 2 === 1 ? readers.toReversed() : readers) await read();
      options.say(`round ${round} of ${options.rounds}`);
    }
  } finally {
    await system.dispose();
    await work.dispose();
  }
  const [p95, reference] = [quantile(live, 0.95), quantile(bare, 0.95)];
  return [
    {
      what: `live text at a client, over a read of the CLI's pipe (${live.length} pieces: p50, p95, max)`,
      measured: shown(live),
      reference: shown(bare),
      ratio: `${(median(live) / median(bare)).toFixed(1)}, ${(p95 / reference).toFixed(1)}`,
      goal: `p95 <= ${shownMs(P95_MS_MAX)}`,
      isMet: p95 <= P95_MS_MAX,
    },
  ];
}

/** The first round is not counted. */
const counted = (round: number, delaysMs: number[]): number[] => (round === 0 ? [] : delaysMs);

const quantile = (numbers: readonly number[], share: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.ceil(numbers.length * share) - 1] ?? NaN;

const shown = (numbers: number[]): string =>
  [0.5, 0.95, 1].map((share) => shownMs(quantile(numbers, share))).join(', ');

/** Since the clock was written; one per piece. */
function delaysMs(text: string): number[] {
  const now = process.hrtime.bigint();
  return (text.match(/\d+(?= )/g) ?? []).map((written) => Number(now - BigInt(written)) / 1e6);
}

async function readLive(client: HangarClient, ref: string, round: number): Promise<number[]> {
  const file = `go-${round}.txt`;
  const found: number[] = [];
  const turn = client.sessions.sendAndWait(
    ref,
    { message: `[[ clock: ${file} ]]` },
    { waitSeconds: WAIT_SECONDS },
  );
  for await (const moment of client.activity.follow(ref)) {
    if ('delta' in moment) found.push(...delaysMs(moment.delta.delta));
    if (found.length >= SAMPLES) break;
  }
  await shell(client, ref, `echo go >${file}`);
  await turn;
  return found.slice(0, SAMPLES);
}

/** The harness as hangar starts it, with a pipe that this process reads. */
async function readPipe(): Promise<number[]> {
  const directory = mkdtempSync(join(tmpdir(), 'hangar-bench-live-'));
  const found: number[] = [];
  const child = spawn(process.execPath, [HARNESS, '--session', randomUUID()], {
    cwd: directory,
    env: { PATH: process.env['PATH'], HOME: directory },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const text = '[[ clock: go.txt ]]';
    child.stdin.write(`${JSON.stringify({ type: 'message', id: 'msg-1', text })}\n`);
    for await (const line of createInterface({ input: child.stdout })) {
      const { type, text: delta } = JSON.parse(line) as { type: string; text: string };
      if (type === 'delta') found.push(...delaysMs(delta));
      if (found.length === SAMPLES) writeFileSync(join(directory, 'go.txt'), 'go');
      if (type === 'done') child.stdin.end();
    }
  } finally {
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  }
  return found.slice(0, SAMPLES);
}
