import { useInfiniteQuery } from '@tanstack/react-query';
import type { SessionStateName } from '@hangar/contracts';
import { useClient } from '../../lib/client.tsx';
import { keys } from '../../lib/queries.ts';

export interface ListFilter {
  state?: SessionStateName | undefined;
  environment?: string | undefined;
  q?: string | undefined;
}

const ROWS_READ = 50;

/** The list, a page at a time, newest first. */
export function useSessions(filter: ListFilter) {
  const client = useClient();
  return useInfiniteQuery({
    queryKey: [...keys.sessions, filter],
    queryFn: ({ pageParam, signal }) =>
      client.sessions.list({ ...filter, limit: ROWS_READ, cursor: pageParam }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    placeholderData: (before) => before,
  });
}
