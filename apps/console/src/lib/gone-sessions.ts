import { createStore } from './store.ts';

/** Sessions that were deleted while the console is open: there is nothing to ask the server for. */
export const goneSessions = createStore<ReadonlySet<string>>(new Set());

export const sessionIsGone = (id: string): void =>
  goneSessions.set(new Set([...goneSessions.get(), id]));
