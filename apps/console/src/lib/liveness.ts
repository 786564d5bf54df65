import { createStore } from './store.ts';

/** Whether what is shown follows the server, and since when it does not. */
export interface Liveness {
  state: 'connecting' | 'live' | 'stale';
  /** When the line was lost, in milliseconds; null while it works. */
  lostAt: number | null;
  reason: string;
}

export const liveness = createStore<Liveness>({ state: 'connecting', lostAt: null, reason: '' });

export const lineWorks = (): void => liveness.set({ state: 'live', lostAt: null, reason: '' });

export function lineLost(reason: string): void {
  const { lostAt } = liveness.get();
  liveness.set({ state: 'stale', lostAt: lostAt ?? Date.now(), reason });
}
