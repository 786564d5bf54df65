import { useDeferredValue, useState } from 'react';
import { Group, NativeSelect, Stack, TextInput, Title } from '@mantine/core';
import { Icon } from '../../components/icons.tsx';
import { Empty, Failed, Loading } from '../../components/page-states.tsx';
import { useMay } from '../../lib/client.tsx';
import { useEnvironments } from '../../lib/environments-query.ts';
import { usePageTitle } from '../../lib/page-title.ts';
import { STATES } from '../../lib/session-words.ts';
import { useSessions, type ListFilter } from './sessions-query.ts';
import { SessionRows } from './session-rows.tsx';
import { ButtonLink } from '../../components/links.tsx';

const STATE_CHOICES = Object.entries(STATES).map(([value, { word }]) => ({ value, label: word }));

export function SessionsPage() {
  usePageTitle('Sessions');
  const [words, setWords] = useState('');
  const [state, setState] = useState<ListFilter['state'] | null>(null);
  const [environment, setEnvironment] = useState<string | null>(null);
  const q = useDeferredValue(words.trim());
  const filter = {
    ...(q && { q }),
    ...(state && { state }),
    ...(environment && { environment }),
  };
  const list = useSessions(filter);
  const rows = list.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <Stack gap={0} h="calc(100dvh - 48px)">
      <Group px="md" py="xs" gap="xs" justify="space-between">
        <Title order={1} size="h4">
          Sessions
        </Title>
        <NewSession />
      </Group>
      <Group px="md" pb="xs" gap="xs" wrap="nowrap">
        <TextInput
          type="search"
          aria-label="Search sessions"
          placeholder="Search name, title, repo, branch"
          leftSection={<Icon name="search" />}
          value={words}
          onChange={(event) => setWords(event.currentTarget.value)}
          flex={1}
          maw={420}
        />
        <NativeSelect
          aria-label="State"
          data={[{ value: '', label: 'All states' }, ...STATE_CHOICES]}
          value={state ?? ''}
          onChange={(event) =>
            setState((event.currentTarget.value || null) as ListFilter['state'] | null)
          }
          size="sm"
          w={150}
        />
        <EnvironmentFilter value={environment} onChange={setEnvironment} />
      </Group>
      {list.isPending && <Loading what="sessions" rows={8} />}
      {list.isError && <Failed error={list.error} onAgain={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 && (
        <NoSessions isFiltered={Object.keys(filter).length > 0} />
      )}
      {rows.length > 0 && (
        <SessionRows
          rows={rows}
          hasMore={list.hasNextPage}
          isReading={list.isFetchingNextPage}
          onMore={() => void list.fetchNextPage()}
        />
      )}
    </Stack>
  );
}

interface EnvironmentFilterProps {
  value: string | null;
  onChange(value: string | null): void;
}

/** Only where there is something to choose. */
function EnvironmentFilter({ value, onChange }: EnvironmentFilterProps) {
  const names = useEnvironments().data?.items.map(({ name }) => name) ?? [];
  if (names.length < 2) return null;
  return (
    <NativeSelect
      aria-label="Environment"
      data={[{ value: '', label: 'All environments' }, ...names]}
      value={value ?? ''}
      onChange={(event) => onChange(event.currentTarget.value || null)}
      size="sm"
      w={170}
      visibleFrom="sm"
    />
  );
}

function NewSession() {
  if (!useMay('write')) return null;
  return (
    <ButtonLink to="/sessions/new" leftSection={<Icon name="plus" size={14} />}>
      New session
    </ButtonLink>
  );
}

const NoSessions = ({ isFiltered }: { isFiltered: boolean }) =>
  isFiltered ? (
    <Empty icon="search" title="No session fits">
      Use other words, or another state.
    </Empty>
  ) : (
    <Empty icon="sessions" title="No sessions yet" action={<NewSession />}>
      A session is a stream of work by an agent on a repository. It outlives its sandbox: suspend
      it, and come back days later.
    </Empty>
  );
