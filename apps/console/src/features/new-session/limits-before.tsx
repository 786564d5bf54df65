import { Text } from '@mantine/core';
import { LimitsList } from '../../components/limits-list.tsx';
import { useLimits } from '../../lib/limits-query.ts';

/** What will bound the session, before it starts [S8]. */
export function LimitsBefore({ environment, harness }: { environment: string; harness: string }) {
  const { data, error } = useLimits(environment, harness || null);
  if (error)
    return (
      <Text size="xs" c="dimmed">
        The limits cannot be read: {error.message}
      </Text>
    );
  return (
    <details>
      <Text component="summary" size="sm" style={{ cursor: 'pointer' }}>
        Limits that will be in force
      </Text>
      {data && <LimitsList limits={data.limits} />}
    </details>
  );
}
