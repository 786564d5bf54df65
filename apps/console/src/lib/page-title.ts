import { useEffect } from 'react';
import { createStore } from './store.ts';

export const pageTitle = createStore('hangar');

/** What the page is called in the bar of the window; the shell puts the count of cards before it. */
export function usePageTitle(title: string): void {
  useEffect(() => pageTitle.set(title), [title]);
}
