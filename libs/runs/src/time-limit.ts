/** The turn's own time limit [M7]; waiting on a person is not the agent's time. */
export interface TimeLimit {
  /** Counts from `from`; called again, it counts anew. */
  start(from: Date): void;
  pause(): void;
  end(): void;
}

export function createTimeLimit(
  minutes: number,
  now: () => Date,
  onTimeOut: () => void,
): TimeLimit {
  let timer: NodeJS.Timeout | undefined;
  const pause = (): void => clearTimeout(timer);
  return {
    start: (from) => {
      pause();
      const leftMs = from.getTime() + minutes * 60_000 - now().getTime();
      if (leftMs <= 0) onTimeOut();
      else timer = setTimeout(onTimeOut, leftMs);
    },
    pause,
    end: pause,
  };
}
