import { useQuery } from '@tanstack/react-query';
import { useClient } from './client.tsx';
import { keys } from './queries.ts';

/** More are there than a person reads; the count says `200+` then. */
export const CARDS_SHOWN_MAX = 200;

/** What waits on the person in all sessions. */
export function useCards() {
  const client = useClient();
  return useQuery({
    queryKey: keys.cards,
    queryFn: ({ signal }) => client.sessions.cards({ limit: CARDS_SHOWN_MAX }, { signal }),
  });
}
