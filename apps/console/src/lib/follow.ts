import { HangarError } from '@hangar/contracts';

/** The client gives a stream up after some forty seconds away; a page that is open tries for ever. */
const AGAIN_MS_FIRST = 1_000;
const AGAIN_MS_MAX = 10_000;

export interface Following<Item> {
  /** Opens the stream after `lastId`; undefined is now. */
  open(lastId: string | undefined, signal: AbortSignal): AsyncGenerator<Item, never, void>;
  /** The id of an item to go on from, or undefined when it has none. */
  idOf(item: Item): string | undefined;
  take(item: Item): void;
  startId?: string | undefined;
  onLost?(reason: string): void;
  /** It cannot be followed at all: the token is refused, or the session is gone. */
  onRefused?(error: HangarError): void;
}

/**
 * Follows a stream until the signal is aborted, whatever happens to the line: without gap or repeat,
 * for it goes on after the last item taken. Looks at once when the browser says that it is online.
 */
export async function follow<Item>(following: Following<Item>, signal: AbortSignal): Promise<void> {
  let lastId = following.startId;
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      for await (const item of following.open(lastId, signal)) {
        tries = 0;
        lastId = following.idOf(item) ?? lastId;
        following.take(item);
      }
    } catch (error) {
      if (signal.aborted) return;
      const failure = HangarError.from(error);
      if (['unauthenticated', 'forbidden', 'not_found'].includes(failure.code)) {
        following.onRefused?.(failure);
        return;
      }
      following.onLost?.(failure.message);
    }
    await pauseOrOnline(Math.min(AGAIN_MS_MAX, AGAIN_MS_FIRST * 2 ** tries), signal);
  }
}

function pauseOrOnline(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      window.removeEventListener('online', end);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    window.addEventListener('online', end);
    signal.addEventListener('abort', end);
  });
}
