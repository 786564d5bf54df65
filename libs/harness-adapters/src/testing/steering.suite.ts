/** Messages to an agent at work: applied, given back, taken back [M3] [M4] [M8]. */
import { expect, it } from '@jest/globals';
import type { HarnessCapabilities, HarnessEvent } from '../harness-adapter.ts';
import { conversationId, newestUserTexts, sentTexts, type HarnessBench } from './harness-bench.ts';
import { LATE_TURNS_MILLISECONDS_MAX, lateMessages } from './late-messages.ts';
import {
  HELD,
  TURNS_MILLISECONDS_MAX,
  isHeld,
  isThere,
  occurrences,
  release,
  settled,
} from './live-bench.ts';

export function describeSteering(bench: () => HarnessBench, has: HarnessCapabilities): void {
  it(
    'applies a message after the running tool call, once [M3]',
    async () => {
      const { home, spec, start } = bench();
      const process = await start(spec({ prompt: `[[ ${HELD} ;; wait: 500 ++ say: done ]]` }));
      await isHeld(process, home);
      process.steer('steer-1', 'mind the gap-1');
      await release(home);
      const turn = await process.finished;
      expect(turn.result).toMatchObject({ outcome: 'succeeded' });
      expect(settled(turn.events, 'steer-1')).toEqual(['delivered']);
      const at = (match: (event: HarnessEvent) => boolean): number => turn.events.findIndex(match);
      const delivered = at((event) => event.type === 'delivered' && event.messageId === 'steer-1');
      expect(at((event) => event.type === 'tool_finished')).toBeLessThan(delivered);
      expect(at((event) => event.type === 'ended')).toBe(turn.events.length - 1);
      expect(occurrences(await newestUserTexts(bench()), 'mind the gap-1')).toBe(1);
    },
    TURNS_MILLISECONDS_MAX,
  );

  it(
    'gets every message of the last milliseconds once or gives it back, in order [M3]',
    async () => {
      const { delivered, returned } = await lateMessages(bench());
      expect(delivered).toBeGreaterThan(0);
      expect(returned).toBeGreaterThan(0);
    },
    LATE_TURNS_MILLISECONDS_MAX,
  );

  it(
    'is interrupted before it has begun: no tool runs [M8]',
    async () => {
      const { home, spec, start } = bench();
      const prompt = '[[ wait: 300 ++ run: echo one > one.txt ;; say: no ]]';
      const process = await start(spec({ prompt }));
      process.interrupt();
      const turn = await process.finished;
      expect(turn.result.outcome).toBe('cancelled');
      expect(await isThere(home, 'one.txt')).toBe(false);
    },
    TURNS_MILLISECONDS_MAX,
  );

  it(
    'gives a waiting message back when it is interrupted [M8]',
    async () => {
      const { home, spec, start, run } = bench();
      const process = await start(spec({ prompt: `[[ ${HELD} ;; say: no ]]` }));
      await isHeld(process, home);
      process.steer('steer-1', 'mind the gap-2');
      process.interrupt();
      const turn = await process.finished;
      expect(turn.result.outcome).toBe('cancelled');
      expect(settled(turn.events, 'steer-1')).toEqual(['returned']);
      const next = { prompt: 'next [[ say: ok ]]', conversationId: conversationId(turn) };
      const after = await run(spec({ ...next, resume: true }));
      expect(after.result).toMatchObject({ outcome: 'succeeded', summary: 'ok' });
      expect(occurrences(await sentTexts(bench()), 'mind the gap-2')).toBe(0);
    },
    TURNS_MILLISECONDS_MAX,
  );

  if (!has.withdraw) return;
  it(
    'gives a message back that it has not got, and only that one [M4]',
    async () => {
      const { home, spec, start } = bench();
      const process = await start(spec({ prompt: `[[ ${HELD} ;; say: done ]]` }));
      await isHeld(process, home);
      process.steer('steer-1', 'mind the gap-3');
      process.steer('steer-2', 'mind the gap-4');
      process.withdraw('steer-1');
      await process.until(({ type }) => type === 'returned');
      await release(home);
      const turn = await process.finished;
      expect(settled(turn.events, 'steer-1')).toEqual(['returned']);
      expect(settled(turn.events, 'steer-2')).toEqual(['delivered']);
      expect(occurrences(await sentTexts(bench()), 'mind the gap-3')).toBe(0);
      expect(occurrences(await newestUserTexts(bench()), 'mind the gap-4')).toBe(1);
    },
    TURNS_MILLISECONDS_MAX,
  );

  it(
    'keeps a message that it has got: too late to take it back [M4]',
    async () => {
      const { home, spec, start } = bench();
      const process = await start(spec({ prompt: `[[ ${HELD} ;; wait: 500 ++ say: done ]]` }));
      await isHeld(process, home);
      process.steer('steer-1', 'mind the gap-5');
      await release(home);
      const isGot = (event: HarnessEvent): boolean =>
        event.type === 'delivered' && event.messageId === 'steer-1';
      await process.until(isGot);
      process.withdraw('steer-1');
      const turn = await process.finished;
      expect(turn.result.outcome).toBe('succeeded');
      expect(settled(turn.events, 'steer-1')).toEqual(['delivered']);
      expect(occurrences(await newestUserTexts(bench()), 'mind the gap-5')).toBe(1);
    },
    TURNS_MILLISECONDS_MAX,
  );
}
