import { Group, Loader, Text } from '@mantine/core';
import { useOpenedSession } from '../session-context.tsx';

/** Where the time goes while a sandbox starts [S4]. */
export function StartPhase() {
  const { state, state_reason, start_phase } = useOpenedSession();
  if (start_phase === null) return null;
  return (
    <Group gap="xs" role="status">
      <Loader size="xs" />
      <Text size="sm" c="dimmed">
        {state === 'RESUMING' ? 'Resuming' : 'Starting'}: {state_reason}
      </Text>
    </Group>
  );
}
