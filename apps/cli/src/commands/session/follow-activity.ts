import { PAGE_SIZE_MAX, type SessionDocument } from '@hangar/contracts';
import type { RunOptions } from '../../command.ts';
import { Interrupted } from '../../terminal.ts';
import type { ActivityPrinter } from './activity-text.ts';

type Run = Pick<RunOptions, 'client' | 'output'>;

export interface Shown {
  sessionId: string;
  /** Cursor of the item before the first. */
  after: string;
  /** Only of this turn; of all when null. */
  turn: number | null;
}

/** The place before the first item of a turn. */
export const beforeTurn = (turn: number): string => `${turn}.0.0`;

/** The place after everything that was done so far. */
export async function newestPlace(
  { client }: Pick<Run, 'client'>,
  { id, turns }: SessionDocument,
): Promise<string> {
  const last = turns.at(-1);
  if (!last || last.outcome !== null) return beforeTurn((last?.number ?? 0) + 1);
  let place = beforeTurn(last.number);
  for (;;) {
    const page = await client.activity.list(id, { after: place, limit: PAGE_SIZE_MAX });
    place = page.items.at(-1)?.cursor ?? place;
    if (page.next_cursor === null) return place;
  }
}

/** Prints what is kept, and says after which item it ended. */
export async function printKept(
  { client }: Run,
  printer: ActivityPrinter,
  { sessionId, after, turn }: Shown,
): Promise<string> {
  let place = after;
  for (;;) {
    const page = await client.activity.list(sessionId, { after: place, limit: PAGE_SIZE_MAX });
    for (const item of page.items) {
      if (turn !== null && item.turn > turn) return place;
      printer.item(item);
      place = item.cursor;
    }
    if (page.next_cursor === null) return place;
  }
}

/** Prints what comes, for ever: ends as the client's `activity.follow` does. */
export async function printComing(
  { client, output }: Run,
  printer: ActivityPrinter,
  { sessionId, after, turn }: Shown,
  more: { signal?: AbortSignal; reached?: (cursor: string) => void } = {},
): Promise<never> {
  const moments = client.activity.follow(sessionId, {
    lastEventId: after,
    signal: more.signal,
    onReconnect: (reason) => {
      printer.pause();
      output.note(`${reason}; connecting again`);
    },
  });
  for await (const moment of moments) {
    const number = 'item' in moment ? moment.item.turn : moment.delta.turn;
    if (turn !== null && number !== turn) continue;
    if ('delta' in moment) {
      printer.delta(moment.delta);
      continue;
    }
    printer.item(moment.item);
    more.reached?.(moment.item.cursor);
  }
  throw new Error('activity ends only by an error');
}

/** Prints what comes until `until` is done, and then what is left of it. */
export async function printUntil<Result>(
  run: Run,
  printer: ActivityPrinter,
  shown: Shown,
  until: Promise<Result>,
): Promise<Result> {
  const { output } = run;
  const stop = new AbortController();
  let { after } = shown;
  const unread = (error: unknown): void => {
    if (error instanceof Interrupted) return;
    // Looking on failed; what is waited for goes on.
    output.note(`Its activity cannot be shown: ${String(error)}`);
  };
  const printing = printComing(run, printer, shown, {
    signal: stop.signal,
    reached: (cursor) => (after = cursor),
  }).catch((error: unknown) => {
    if (!stop.signal.aborted) unread(error);
  });
  try {
    return await until;
  } finally {
    stop.abort();
    await printing;
    // A turn's end is told on another way than what it did: the rest is read where it is kept.
    await printKept(run, printer, { ...shown, after }).catch(unread);
    printer.pause();
  }
}
