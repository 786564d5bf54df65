/** What the benches share: what one says, and what `main.ts` prints of it. */

/** One line of the table: a measured value against its reference in the same run. */
export interface Row {
  what: string;
  /** As measured, with its unit: `412 ms`, `5,120/s`. */
  measured: string;
  /** What it is held against, with its unit; empty where the goal is a bound by itself. */
  reference: string;
  /** Measured over reference, or empty. */
  ratio: string;
  goal: string;
  isMet: boolean;
}

export interface BenchOptions {
  /** Interleaved rounds that count; one more runs before them and does not. */
  rounds: number;
  /** Of everything that is generated. */
  seed: number;
  /** For progress, while it runs. */
  say(text: string): void;
}

export type Bench = (options: BenchOptions) => Promise<Row[]>;

export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN;

/** Milliseconds that `work` took. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

export interface Contestant {
  /** Not timed: makes the state that `run` starts from. */
  prepare?(round: number): Promise<void>;
  /** Returns the milliseconds that count. */
  run(round: number): Promise<number>;
}

/**
 * Runs all contestants in turn, round by round and in changing order, so that a slow moment of
 * the machine falls on each of them. Returns the milliseconds of each in the order of the rounds.
 */
export async function interleave(
  contestants: readonly Contestant[],
  options: BenchOptions,
): Promise<number[][]> {
  const found: number[][] = contestants.map(() => []);
  for (let round = 0; round <= options.rounds; round += 1) {
    const order = [...contestants.keys()];
    if (round % 2 === 1) order.reverse();
    for (const index of order) {
      const contestant = contestants[index]!;
      await contestant.prepare?.(round);
      const ms = await contestant.run(round);
      if (round > 0) found[index]!.push(ms);
    }
    options.say(`round ${round} of ${options.rounds}`);
  }
  return found;
}

export const shownMs = (ms: number): string =>
  ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${ms.toFixed(ms < 10 ? 2 : 0)} ms`;

/** A duration that may be `factor` times the reference and `extraMs` more. */
export function durationRow(
  what: string,
  measuredMs: readonly number[],
  referenceMs: readonly number[],
  goal: { factor: number; extraMs: number },
): Row {
  const measured = median(measuredMs);
  const reference = median(referenceMs);
  const extra = goal.extraMs === 0 ? '' : ` + ${shownMs(goal.extraMs)}`;
  return {
    what,
    measured: shownMs(measured),
    reference: shownMs(reference),
    ratio: (measured / reference).toFixed(2),
    goal: `<= ${goal.factor}x${extra} (${shownMs(reference * goal.factor + goal.extraMs)})`,
    isMet: measured <= reference * goal.factor + goal.extraMs,
  };
}
