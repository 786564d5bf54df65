import type { Run } from './run.ts';

/** The turn's own time limit [M7]; waiting on a person is not the agent's time. */
export interface TimeLimit {
  /** Counts as the run's log says; not at all while an ask is open. */
  follow(run: Pick<Run, 'asks' | 'counts_from'>): void;
  end(): void;
}

export function createTimeLimit(
  minutes: number,
  now: () => Date,
  onTimeOut: () => void,
): TimeLimit {
  let timer: NodeJS.Timeout | undefined;
  /** Before the process has started. */
  const begun = now().getTime();
  return {
    follow: ({ asks, counts_from }) => {
      clearTimeout(timer);
      if (asks.some(({ open }) => open)) return;
      const from = counts_from === null ? begun : Date.parse(counts_from);
      const leftMs = from + minutes * 60_000 - now().getTime();
      if (leftMs <= 0) onTimeOut();
      else timer = setTimeout(onTimeOut, leftMs);
    },
    end: () => clearTimeout(timer),
  };
}
