import { useEffect } from 'react';
import { ago, exact } from '../lib/time.ts';
import { createStore, useStore } from '../lib/store.ts';

/** Relative times are right to the minute; all of them change with one clock. */
const TICK_MS = 20_000;
const clock = createStore(Date.now());
let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

export function useNow(): number {
  useEffect(() => {
    watchers += 1;
    clock.set(Date.now());
    timer ??= setInterval(() => clock.set(Date.now()), TICK_MS);
    return () => {
      watchers -= 1;
      if (watchers > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return useStore(clock);
}

/** `4 min ago`, with the exact time on hover and for a reader of the screen. */
export function TimeAgo({ time }: { time: string }) {
  const now = useNow();
  return (
    <time dateTime={time} title={exact(time)} style={{ whiteSpace: 'nowrap' }}>
      {ago(time, now)}
    </time>
  );
}
