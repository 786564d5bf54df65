import { setTimeout as delay } from 'node:timers/promises';

const LOOK_EVERY_MS = 20;
const WITHIN_MS = 20_000;

/**
 * Waits until `condition` gives something other than false or undefined, and returns it. An
 * error or a time that is over fails with the last thing seen.
 */
export async function eventually<T>(
  condition: () => T | Promise<T>,
  options: { withinMs?: number; what?: string } = {},
): Promise<Exclude<T, false | undefined>> {
  const { withinMs = WITHIN_MS, what = condition.toString() } = options;
  const until = performance.now() + withinMs;
  for (;;) {
    const seen = await condition();
    if (seen !== false && seen !== undefined) return seen as Exclude<T, false | undefined>;
    if (performance.now() > until) throw new Error(`not within ${withinMs} ms: ${what}`);
    await delay(LOOK_EVERY_MS);
  }
}
