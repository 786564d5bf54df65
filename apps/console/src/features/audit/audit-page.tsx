import { useState } from 'react';
import { Button, Group, Text, TextInput, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { EventDocument } from '@hangar/contracts';
import { Empty, Failed, Loading } from '../../components/page-states.tsx';
import { Icon } from '../../components/icons.tsx';
import { useClient } from '../../lib/client.tsx';
import { sessionVersionAt } from '../../lib/event-words.ts';
import { usePageTitle } from '../../lib/page-title.ts';
import { keys } from '../../lib/queries.ts';
import { EventDetails } from './event-details.tsx';
import { RecentSessions } from './recent-sessions.tsx';
import { Timeline } from './timeline.tsx';
import { VerifyButton } from './verify-button.tsx';
import styles from './audit.module.css';
import { AnchorLink } from '../../components/links.tsx';

/** The log of a session, and the session as it was at any event of it [L1]. */
export function AuditPage() {
  usePageTitle('Audit');
  const { session } = useSearch({ from: '/audit' });
  return (
    <div className={styles.page}>
      <Group px="md" py="xs" gap="sm" justify="space-between">
        <Title order={1} size="h4">
          Audit
        </Title>
        <ChooseSession />
      </Group>
      {session === undefined ? <RecentSessions /> : <SessionLog session={session} />}
    </div>
  );
}

function ChooseSession() {
  const { session = '' } = useSearch({ from: '/audit' });
  const navigate = useNavigate();
  const [words, setWords] = useState(session);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void navigate({ to: '/audit', search: words.trim() ? { session: words.trim() } : {} });
      }}
    >
      <TextInput
        type="search"
        size="xs"
        w={280}
        aria-label="Session by id or name"
        placeholder="Session by id or name, then Enter"
        leftSection={<Icon name="search" size={14} />}
        value={words}
        onChange={(event) => setWords(event.currentTarget.value)}
      />
    </form>
  );
}

const EVENTS_READ = 100;

function SessionLog({ session }: { session: string }) {
  const client = useClient();
  const [chosen, setChosen] = useState<EventDocument | null>(null);
  const log = useInfiniteQuery({
    queryKey: keys.audit(session),
    queryFn: ({ pageParam, signal }) =>
      client.audit.list(
        { session, order: 'desc', limit: EVENTS_READ, cursor: pageParam },
        { signal },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  if (log.isError) return <Failed error={log.error} onAgain={() => void log.refetch()} />;
  if (log.isPending) return <Loading what="the log" />;
  const events = log.data.pages.flatMap(({ items }) => items);
  if (events.length === 0)
    return (
      <Empty icon="audit" title="No events">
        This session has no log that you may read.
      </Empty>
    );
  return (
    <div className={styles.columns}>
      <div className={styles.timeline} role="region" aria-label="Events" tabIndex={0}>
        <Group gap="xs" p="xs" justify="space-between">
          <AnchorLink to="/sessions/$ref" params={{ ref: session }} size="sm" underline="always">
            Open the session
          </AnchorLink>
          <Group gap="xs">
            <VerifyButton session={session} />
            <Button variant="default" loading={log.isFetching} onClick={() => void log.refetch()}>
              Read again
            </Button>
          </Group>
        </Group>
        <Timeline events={events} chosen={chosen?.id ?? null} onChoose={setChosen} />
        {log.hasNextPage && (
          <Button
            variant="subtle"
            m="xs"
            loading={log.isFetchingNextPage}
            onClick={() => void log.fetchNextPage()}
          >
            Show earlier events
          </Button>
        )}
      </div>
      <div className={styles.details} role="region" aria-label="The chosen event" tabIndex={0}>
        {chosen ? (
          <EventDetails
            session={session}
            event={chosen}
            version={sessionVersionAt(events, chosen)}
            onClose={() => setChosen(null)}
          />
        ) : (
          <Text size="sm" c="dimmed" p="md">
            Choose an event to see what it says, and the session as it was then.
          </Text>
        )}
      </div>
    </div>
  );
}
