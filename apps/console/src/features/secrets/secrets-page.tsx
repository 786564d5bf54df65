import { useState, type SubmitEvent } from 'react';
import {
  ActionIcon,
  Button,
  Group,
  PasswordInput,
  Table,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Icon } from '../../components/icons.tsx';
import { Empty, Failed, Loading } from '../../components/page-states.tsx';
import styles from '../../components/page.module.css';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useClient, useMay } from '../../lib/client.tsx';
import { usePageTitle } from '../../lib/page-title.ts';
import { keys } from '../../lib/queries.ts';

/** Names and versions; a value goes in and never comes back [Z2]. */
export function SecretsPage() {
  usePageTitle('Secrets');
  const client = useClient();
  const queries = useQueryClient();
  const mayWrite = useMay('write');
  const secrets = useQuery({
    queryKey: keys.secrets,
    queryFn: ({ signal }) => client.secrets.list({ signal }),
  });
  const [leaving, setLeaving] = useState<string | null>(null);
  const items = secrets.data?.items ?? [];
  return (
    <div className={styles.page}>
      <Title order={1} size="h4">
        Secrets
      </Title>
      <Text size="sm" c="dimmed">
        An environment names the secrets that its sessions get. Values are sealed, handed to each
        run fresh, and taken out of what is shown and kept.
      </Text>
      {mayWrite && <SetSecret />}
      {secrets.isError && <Failed error={secrets.error} onAgain={() => void secrets.refetch()} />}
      {secrets.isPending && <Loading what="secrets" rows={3} />}
      {secrets.isSuccess && items.length === 0 && (
        <Empty icon="secrets" title="No secrets yet">
          Set one above, such as the key of a model&apos;s provider, and name it in an environment.
        </Empty>
      )}
      {items.length > 0 && (
        <Table verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Name</Table.Th>
              <Table.Th>Version</Table.Th>
              <Table.Th>Set</Table.Th>
              <Table.Td />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {items.map(({ name, version, updated_at }) => (
              <Table.Tr key={name}>
                <Table.Td className="mono">{name}</Table.Td>
                <Table.Td>{version}</Table.Td>
                <Table.Td>
                  <TimeAgo time={updated_at} />
                </Table.Td>
                <Table.Td ta="right">
                  {mayWrite && (
                    <ActionIcon
                      variant="subtle"
                      color="gray"
                      aria-label={`Delete ${name}`}
                      onClick={() => setLeaving(name)}
                    >
                      <Icon name="cross" />
                    </ActionIcon>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {leaving !== null && (
        <ConfirmDialog
          title={`Delete ${leaving}`}
          verb="Delete"
          onClose={() => setLeaving(null)}
          onConfirm={async () => {
            await client.secrets.delete(leaving);
            await queries.invalidateQueries({ queryKey: keys.secrets });
          }}
        >
          Sessions whose environment names it do not get it any more.
        </ConfirmDialog>
      )}
    </div>
  );
}

function SetSecret() {
  const client = useClient();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [isSaving, setSaving] = useState(false);
  const submit = async (event: SubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    setSaving(true);
    setError(null);
    try {
      await client.secrets.set({ name, value });
      await queries.invalidateQueries({ queryKey: keys.secrets });
      setName('');
      setValue('');
    } catch (failure) {
      setError(failure);
    }
    setSaving(false);
  };
  return (
    <form onSubmit={(event) => void submit(event)} autoComplete="off">
      <Group gap="xs" align="end">
        <TextInput
          label="Name"
          placeholder="ANTHROPIC_API_KEY"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          w={240}
        />
        <PasswordInput
          label="Value"
          value={value}
          onChange={(event) => setValue(event.currentTarget.value)}
          autoComplete="new-password"
          w={260}
        />
        <Button type="submit" size="sm" loading={isSaving} disabled={name === '' || value === ''}>
          Set
        </Button>
      </Group>
      {error !== null && <Failed error={error} />}
    </form>
  );
}
