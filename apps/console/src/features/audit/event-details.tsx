import { ActionIcon, Code, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { EventDocument } from '@hangar/contracts';
import { Icon } from '../../components/icons.tsx';
import { Failed, Loading } from '../../components/page-states.tsx';
import { useClient } from '../../lib/client.tsx';
import { actorText, eventText } from '../../lib/event-words.ts';
import { keys } from '../../lib/queries.ts';
import { exact } from '../../lib/time.ts';
import { SessionThen } from './session-then.tsx';

interface EventDetailsProps {
  session: string;
  event: EventDocument;
  /** Of the session's stream when it happened; null when it is not known. */
  version: number | null;
  onClose(): void;
}

export const EventDetails = ({ session, event, version, onClose }: EventDetailsProps) => (
  <Stack gap="md" p="md">
    <Group justify="space-between" wrap="nowrap">
      <Title order={2} size="h5">
        {eventText(event.type)}
      </Title>
      <ActionIcon variant="subtle" color="gray" aria-label="Close" onClick={onClose}>
        <Icon name="cross" />
      </ActionIcon>
    </Group>
    <Text size="sm">
      {exact(event.at)}, by {actorText(event.actor)}
    </Text>
    {version !== null && <Then session={session} version={version} />}
    <Stack gap={4}>
      <Title order={3} size="h6">
        What it says
      </Title>
      <Code block mah={360} style={{ overflow: 'auto' }} tabIndex={0}>
        {JSON.stringify(event.data, null, 2)}
      </Code>
      <Text size="xs" c="dimmed">
        <span className="mono">{event.type}</span>, version {event.version} of{' '}
        <span className="mono">{event.stream}</span>. Cause{' '}
        <span className="mono">{event.cause ?? 'none'}</span>, correlation{' '}
        <span className="mono">{event.correlation}</span>.
      </Text>
    </Stack>
  </Stack>
);

function Then({ session, version }: { session: string; version: number }) {
  const client = useClient();
  const replay = useQuery({
    queryKey: keys.replay(session, version),
    queryFn: ({ signal }) => client.audit.replay({ session, version }, { signal }),
  });
  if (replay.isError) return <Failed error={replay.error} />;
  if (replay.isPending) return <Loading what="the session as it was" rows={3} />;
  return <SessionThen session={replay.data} />;
}
