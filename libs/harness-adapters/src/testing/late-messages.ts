/** Messages that are written in the last milliseconds of a turn [M3]. */
import { expect } from '@jest/globals';
import { setImmediate as immediate } from 'node:timers/promises';
import { conversationId, newestUserTexts, type HarnessBench } from './harness-bench.ts';
import type { FinishedTurn } from './harness-process.ts';
import { all, occurrences, settled } from './live-bench.ts';

/** Turns of which each gets two messages; more than the fewest only until both ends were seen. */
const LATE_TURNS_MIN = 10;
const LATE_TURNS_MAX = 30;
export const LATE_TURNS_MILLISECONDS_MAX = LATE_TURNS_MAX * 20_000;
/** Set it to a printed seed to have the same offsets again. */
const SEED_VARIABLE = 'HANGAR_TEST_SEED';

/** Random numbers in [0, 1) that a seed gives again. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export async function lateMessages(
  bench: HarnessBench,
): Promise<{ delivered: number; returned: number }> {
  const seed = Number(process.env[SEED_VARIABLE]) || Date.now() % 1_000_000;
  const random = randomFrom(seed);
  process.stderr.write(`live suite: ${SEED_VARIABLE}=${seed}\n`);
  const counts = { delivered: 0, returned: 0 };
  const returned: string[] = [];
  const anchors = ['text_delta', 'message', 'tool_finished'] as const;
  let id: string | null = null;
  /** Longest time from an anchor to the end so far, of turns that nothing was sent to late. */
  const span = { text_delta: 0, message: 0, tool_finished: 0 };
  const isSeen = (): boolean => counts.delivered > 0 && counts.returned > 0;
  for (
    let number = -1;
    number < LATE_TURNS_MIN || (number < LATE_TURNS_MAX && !isSeen());
    number += 1
  ) {
    const anchor = anchors[Math.max(0, number) % anchors.length] ?? 'message';
    const prompt = `turn ${number} [[ run: true ;; wait: 30 ++ say: the last words ]]`;
    const turn = bench.spec({
      prompt,
      ...(id === null ? {} : { conversationId: id, resume: true }),
    });
    const running = await bench.start(turn);
    const names = number < 0 ? [] : [`late-${seed}-${number}-a`, `late-${seed}-${number}-b`];
    if (number < 0) {
      const seen = anchors.map(async (type) => {
        await running.until((event) => event.type === type);
        span[type] = performance.now();
      });
      await Promise.all([...seen, running.until(({ type }) => type === 'ended')]);
      for (const type of anchors) span[type] = performance.now() - span[type];
    } else {
      await running.until(({ type }) => type === anchor);
      const start = performance.now();
      // More of them early: the first turn, which was measured, is the slowest.
      const offsets = names
        .map(() => random() * random() * 1.3 * span[anchor])
        .toSorted((a, b) => a - b);
      for (const [index, name] of names.entries()) {
        while (performance.now() - start < (offsets[index] ?? 0)) await immediate();
        running.steer(name, `words ${name}.`);
      }
    }
    const finished = await running.finished;
    id ??= conversationId(finished);
    expect(finished.result).toMatchObject({ outcome: 'succeeded' });
    checkLate(finished, names);
    const texts = await newestUserTexts(bench);
    for (const name of names) {
      const [how] = settled(finished.events, name);
      if (how === 'returned') returned.push(name);
      counts[how === 'returned' ? 'returned' : 'delivered'] += 1;
    }
    const had = names.filter((name) => !returned.includes(name));
    expect(had.map((name) => occurrences(texts, `words ${name}.`))).toEqual(had.map(() => 1));
    expect(returned.filter((name) => occurrences(texts, `words ${name}.`) > 0)).toEqual([]);
  }
  process.stderr.write(`live suite: ${JSON.stringify(counts)}\n`);
  return counts;
}

/** Each once; the earlier one never later, and never given back while the later one is taken. */
function checkLate(turn: FinishedTurn, names: string[]): void {
  expect(names.map((name) => settled(turn.events, name).length)).toEqual(names.map(() => 1));
  const how = names.flatMap((name) => settled(turn.events, name));
  expect(how).toEqual(how.toSorted());
  const order = turn.events.flatMap((event) =>
    event.type === 'delivered' && names.includes(event.messageId) ? [event.messageId] : [],
  );
  expect(order).toEqual(order.toSorted());
  expect(all(turn.events, 'ended')).toHaveLength(1);
  const end = turn.events.findIndex(({ type }) => type === 'ended');
  const after = turn.events.slice(end + 1);
  expect(after.filter(({ type }) => type !== 'returned')).toEqual([]);
}
