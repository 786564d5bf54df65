import { setTimeout as delay } from 'node:timers/promises';
import { HangarError } from '@hangar/contracts';

interface Server {
  readonly port: number;
  /** Resolves with the end of its log when it has ended, for whatever reason. */
  readonly gone: Promise<string>;
  stop(): Promise<void>;
}

export interface KeptUp<S extends Server> {
  /** As it was started first; its address stays. */
  server: S;
  stop(): Promise<void>;
}

const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 5_000;
const LOG_CHARACTERS_MAX = 500;

/**
 * Starts a server, and again whenever it ends without having been asked to, on the port that its
 * users know: they wait for it and go on [O2]. A start that fails is tried again, with a pause
 * that doubles up to 5 s; the first one throws.
 */
export async function keepUp<S extends Server>(
  name: string,
  start: (port: number) => Promise<S>,
  onProblem: (problem: HangarError) => void,
): Promise<KeptUp<S>> {
  const server = await start(0);
  const stopping = new AbortController();
  let current: Server | null = server;
  const watch = async (): Promise<void> => {
    let pauseMs = PAUSE_MS_MIN;
    for (;;) {
      const log = await current?.gone;
      if (stopping.signal.aborted) return;
      if (log !== undefined) onProblem(ended(name, log));
      current = null;
      await delay(pauseMs, null, stopping).catch(() => undefined);
      if (stopping.signal.aborted) return;
      try {
        current = await start(server.port);
        pauseMs = PAUSE_MS_MIN;
        if (stopping.signal.aborted) await current.stop();
      } catch (error) {
        onProblem(HangarError.from(error));
        pauseMs = Math.min(PAUSE_MS_MAX, pauseMs * 2);
      }
    }
  };
  const watched = watch();
  return {
    server,
    stop: async () => {
      stopping.abort();
      await current?.stop();
      await watched;
    },
  };
}

const ended = (name: string, log: string): HangarError =>
  new HangarError('unavailable', `${name} ended: ${log.slice(-LOG_CHARACTERS_MAX).trim()}`, {
    hint: 'It is started again.',
  });
