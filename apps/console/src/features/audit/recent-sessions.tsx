import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Empty, Failed, Loading } from '../../components/page-states.tsx';
import { StateDot } from '../../components/state-dot.tsx';
import { useClient } from '../../lib/client.tsx';
import { keys } from '../../lib/queries.ts';
import { titleOf } from '../../lib/session-words.ts';
import { AnchorLink } from '../../components/links.tsx';

const SESSIONS_SHOWN = 20;

/** Somewhere to begin: the newest sessions. */
export function RecentSessions() {
  const client = useClient();
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.sessions, 'recent'],
    queryFn: ({ signal }) => client.sessions.list({ limit: SESSIONS_SHOWN }, { signal }),
  });
  if (error) return <Failed error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading what="sessions" />;
  if (data.items.length === 0)
    return (
      <Empty icon="audit" title="No sessions yet">
        Every command, event, decision, turn and checkpoint of a session will be on record here.
      </Empty>
    );
  return (
    <Stack gap={4} px="md">
      <Text size="sm" c="dimmed">
        Choose a session to read its log.
      </Text>
      {data.items.map((session) => (
        <AnchorLink
          key={session.id}
          to="/audit"
          search={{ session: session.id }}
          size="sm"
          style={{ display: 'flex', justifyContent: 'space-between', maxWidth: 560 }}
        >
          {titleOf(session)}
          <StateDot state={session.state} />
        </AnchorLink>
      ))}
    </Stack>
  );
}
