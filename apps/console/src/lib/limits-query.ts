import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import type { LimitsDocument } from '@hangar/contracts';
import { useClient } from './client.tsx';
import { keys } from './queries.ts';

/** Every bound that is in force, before anything starts [S8]. */
export function useLimits(
  environment: string | null,
  harness: string | null,
): UseQueryResult<LimitsDocument> {
  const client = useClient();
  return useQuery({
    queryKey: keys.limits(environment, harness),
    queryFn: ({ signal }) =>
      client.limits.get(
        { environment: environment ?? undefined, harness: harness ?? undefined },
        { signal },
      ),
    placeholderData: (before) => before,
  });
}
