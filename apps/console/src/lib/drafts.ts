import type { LineComment } from '@hangar/contracts';
import { createStore, useStore, type Store } from './store.ts';

/** What a person has written for a session and not sent; it outlives a reload of the tab. */
export interface Draft {
  text: string;
  comments: DraftComment[];
}

/** A comment on a line of a change; it goes with the next message, or alone. */
export interface DraftComment extends LineComment {
  id: string;
}

const EMPTY: Draft = { text: '', comments: [] };
const stores = new Map<string, Store<Draft>>();
const storageKey = (sessionId: string): string => `hangar.draft.${sessionId}`;

function storeOf(sessionId: string): Store<Draft> {
  const known = stores.get(sessionId);
  if (known) return known;
  const kept = sessionStorage.getItem(storageKey(sessionId));
  const store = createStore<Draft>(kept ? { ...EMPTY, ...(JSON.parse(kept) as Draft) } : EMPTY);
  store.subscribe(() => {
    sessionStorage.setItem(storageKey(sessionId), JSON.stringify(store.get()));
  });
  stores.set(sessionId, store);
  return store;
}

export function useDraft(sessionId: string) {
  const store = storeOf(sessionId);
  const draft = useStore(store);
  return {
    draft,
    change: (part: Partial<Draft>): void => store.set({ ...store.get(), ...part }),
    clear: (): void => store.set(EMPTY),
  };
}
