import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import type { HarnessDocument, SessionDocument } from '@hangar/contracts';
import { useClient } from './client.tsx';
import { keys } from './queries.ts';

/** A session by id or name. */
export function useSession(ref: string): UseQueryResult<SessionDocument> {
  const client = useClient();
  return useQuery({
    queryKey: keys.session(ref),
    queryFn: ({ signal }) => client.sessions.get(ref, { signal }),
  });
}

export function useHarnesses(): UseQueryResult<{ items: HarnessDocument[] }> {
  const client = useClient();
  return useQuery({
    queryKey: keys.harnesses,
    queryFn: ({ signal }) => client.harnesses.list({ signal }),
  });
}

/** Whether a harness can; null while that is not known, or where the server does not tell of it. */
export function useCan(harness: string, capability: string): boolean | null {
  const { data } = useHarnesses();
  const found = data?.items.find(({ name }) => name === harness);
  return found ? found.capabilities[capability] === true : null;
}
