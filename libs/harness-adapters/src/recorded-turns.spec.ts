/** The real programs' recorded output, read by each protocol: one table for all harnesses. */
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { HarnessName, TurnResult } from './harness-adapter.ts';
import { HARNESS_NAMES, harnessAdapter } from './registry.ts';
import { readTurn, recordedLines, recordedTurn } from './testing/recorded-turn.ts';

const RESET = '2026-12-01T04:40:00.000Z';
const SCENARIOS: [string, number, Partial<TurnResult>][] = [
  ['first-turn', 1, { outcome: 'succeeded', summary: 'all done' }],
  [
    'second-turn',
    2,
    { outcome: 'succeeded', summary: expect.stringContaining('first words') as never },
  ],
  ['interrupted', 3, { outcome: 'cancelled', summary: 'let me' }],
  ['rejected-key', 4, failure('authentication')],
  ['usage-limit', 5, failure('usage_limit')],
  ['retried', 6, { outcome: 'succeeded', summary: 'after all' }],
  ['cut', 7, failure('connection')],
];

function failure(kind: string): Partial<TurnResult> {
  return { outcome: 'failed', summary: '', error: expect.objectContaining({ kind }) as never };
}

const directory = (name: HarnessName): string => join(import.meta.dirname, name);
/** Antigravity has no recording: it was not run (its own spec has lines as they are said to be). */
const RECORDED = HARNESS_NAMES.filter((name) => name !== 'antigravity');
const cases = RECORDED.flatMap((name) =>
  SCENARIOS.filter(([scenario]) => name !== 'fake' || scenario !== 'cut').map(
    ([scenario, number, result]) => ({ name, scenario, number, result }),
  ),
);

describe('recorded turns', () => {
  it.each(cases)('$name, $scenario', ({ name, scenario, number, result }) => {
    const protocol = harnessAdapter(name).protocol(recordedTurn(number));
    protocol.open();
    const lines = recordedLines(directory(name), scenario);
    const turn = readTurn(protocol, lines);
    expect(turn.result).toMatchObject(result);
    expect(turn.events.filter((event) => event.type === 'ended')).toHaveLength(1);
    expect(turn.events.filter((event) => event.type === 'conversation')).not.toHaveLength(0);
    expect(turn.events.filter((event) => event.type === 'delivered')).toHaveLength(1);
    // Read again, as by a service that restarts: nothing is said or written twice.
    expect(readTurn(protocol, lines)).toMatchObject({ events: [], keys: [] });
    expect(protocol.exited({ code: 0, signal: null }, '')).toEqual(turn.result);
  });

  it.each(RECORDED)('%s: a turn that is cut off anywhere gives no success', (name) => {
    const lines = recordedLines(directory(name), 'first-turn');
    const ends = lines.map((_line, count) => {
      const protocol = harnessAdapter(name).protocol(recordedTurn(1));
      const turn = readTurn(protocol, lines.slice(0, count));
      return turn.result ?? protocol.exited({ code: null, signal: 'SIGKILL' }, '');
    });
    const early = ends.slice(0, Math.floor(lines.length / 2));
    expect(early.map(({ outcome }) => outcome)).toEqual(early.map(() => 'failed'));
    expect(early.map(({ error }) => error?.kind)).toEqual(early.map(() => 'process'));
  });

  it.each(HARNESS_NAMES)('%s: lines that mean nothing give nothing', (name) => {
    const protocol = harnessAdapter(name).protocol(recordedTurn(1));
    const odd = ['', 'not json', '[]', 'null', '7', '{}', '{"type":7}', '{"type":"new-thing"}'];
    expect(readTurn(protocol, odd)).toMatchObject({ events: [], keys: [] });
  });

  it.each([
    ['claude-code', 'subscription-limit'],
    ['codex', 'usage-limit'],
    ['fake', 'usage-limit'],
  ] as const)('%s says when the limit ends', (name, scenario) => {
    const protocol = harnessAdapter(name).protocol(recordedTurn(5));
    const turn = readTurn(protocol, recordedLines(directory(name), scenario));
    expect(turn.result?.error?.resetsAt).toBe(RESET);
  });

  it.each([
    ['claude-code', 3690, 1230],
    ['codex', 3600, 1200],
    ['pi', 3690, 1230],
    ['gemini', 3600, 1200],
    ['opencode', 3690, 1230],
    ['fake', 3000, 1000],
  ] as const)('%s counts the tokens and the cost of one turn alone', (name, first, second) => {
    const adapter = harnessAdapter(name);
    const usage = ['first-turn', 'second-turn'].map((scenario, index) => {
      const protocol = adapter.protocol(recordedTurn(index + 1));
      return readTurn(protocol, recordedLines(directory(name), scenario)).result?.usage;
    });
    expect(usage.map((each) => each?.input_tokens)).toEqual([first, second]);
    expect(usage.map((each) => each?.output_tokens)).toEqual([150, 50]);
    const dollars = usage.map((each) => each?.cost_usd ?? 0);
    expect((dollars[0] ?? 0) / 3).toBeCloseTo(dollars[1] ?? 0, 9);
  });
});
