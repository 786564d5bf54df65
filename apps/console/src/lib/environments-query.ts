import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import type { EnvironmentDocument } from '@hangar/contracts';
import { useClient } from './client.tsx';
import { keys } from './queries.ts';

export function useEnvironments(): UseQueryResult<{ items: EnvironmentDocument[] }> {
  const client = useClient();
  return useQuery({
    queryKey: keys.environments,
    queryFn: ({ signal }) => client.environments.list({ signal }),
  });
}
