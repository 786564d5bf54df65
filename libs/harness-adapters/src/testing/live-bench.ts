/** What the tests of live work share. */
import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ask, HarnessEvent } from '../harness-adapter.ts';
import { pidOf } from './harness-bench.ts';
import type { HarnessHome } from './harness-home.ts';
import type { HarnessProcess } from './harness-process.ts';

/** A harness takes 1 to 3 s for a turn; a test has two of them. */
export const TURNS_MILLISECONDS_MAX = 120_000;

/** A tool call that says that it runs (`isHeld`) and ends when the test lets it (`release`). */
export const HELD = 'run: echo $$ > pid.txt; until [ -e go.txt ]; do sleep 0.05; done; echo let go';
/** Codex says 250 ms late that a command runs: before, a message counts as applied at once. */
export async function isHeld(process: HarnessProcess, home: HarnessHome): Promise<void> {
  await process.until((event) => event.type === 'tool_started' && isHeldCall(event.input));
  await pidOf(home);
}
const isHeldCall = (input: unknown): boolean => JSON.stringify(input).includes('go.txt');
export const release = (home: HarnessHome): Promise<void> =>
  writeFile(join(home.cwd, 'go.txt'), '');
export const isThere = (home: HarnessHome, file: string): Promise<boolean> =>
  access(join(home.cwd, file)).then(
    () => true,
    () => false,
  );

export type EventOf<T extends HarnessEvent['type']> = HarnessEvent & { type: T };
export const all = <T extends HarnessEvent['type']>(
  events: HarnessEvent[],
  type: T,
): EventOf<T>[] => events.filter((event): event is EventOf<T> => event.type === type);
export const settled = (events: HarnessEvent[], messageId: string): string[] =>
  events.flatMap((event) =>
    (event.type === 'delivered' || event.type === 'returned') && event.messageId === messageId
      ? [event.type]
      : [],
  );

export async function asked(process: HarnessProcess, count = 1): Promise<Ask> {
  await process.until(() => all(process.events, 'asked').length >= count);
  const found = all(process.events, 'asked')[count - 1];
  if (!found) throw new Error('nothing was asked');
  return found.ask;
}

export const answers = (ask: Ask, text: string): { answers: Record<string, string> } => ({
  answers: Object.fromEntries(ask.questions.map(({ id }) => [id, text])),
});

export const occurrences = (texts: string[], text: string): number =>
  texts.join('\n').split(text).length - 1;
