import type { ReactNode } from 'react';
import {
  Button,
  Group,
  SegmentedControl,
  Stack,
  Table,
  Text,
  Title,
  useMantineColorScheme,
} from '@mantine/core';
import { LimitsList } from '../../components/limits-list.tsx';
import { Failed, Loading } from '../../components/page-states.tsx';
import styles from '../../components/page.module.css';
import { useAccess, useMay } from '../../lib/client.tsx';
import { useLimits } from '../../lib/limits-query.ts';
import { usePageTitle } from '../../lib/page-title.ts';
import { useHarnesses } from '../../lib/session-query.ts';
import { Tokens } from './tokens.tsx';

export function SettingsPage() {
  usePageTitle('Settings');
  const isAdmin = useMay('admin');
  return (
    <div className={styles.page}>
      <Title order={1} size="h4">
        Settings
      </Title>
      <Part title="You">
        <You />
      </Part>
      <Part title="Colours">
        <Colours />
      </Part>
      <Part title="Agents">
        <Agents />
      </Part>
      {isAdmin && (
        <Part title="Access tokens">
          <Tokens />
        </Part>
      )}
      <Part title="Limits">
        <Limits />
      </Part>
    </div>
  );
}

const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <Stack gap="xs" component="section" aria-label={title}>
    <Title order={2} size="h6">
      {title}
    </Title>
    {children}
  </Stack>
);

function You() {
  const { who, signOut } = useAccess();
  return (
    <Group gap="sm">
      <Text size="sm">
        <b>{who.owner}</b>, with the token <span className="mono">{who.token_id}</span> (
        {who.scopes.join(', ')})
      </Text>
      <Button variant="default" onClick={signOut}>
        Sign out
      </Button>
    </Group>
  );
}

function Colours() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <SegmentedControl
      size="xs"
      w={260}
      aria-label="Colours"
      value={colorScheme}
      onChange={(value) => setColorScheme(value as typeof colorScheme)}
      data={[
        { value: 'auto', label: 'As the system' },
        { value: 'light', label: 'Light' },
        { value: 'dark', label: 'Dark' },
      ]}
    />
  );
}

/** What each can that a person notices. */
const CAPABILITIES = [
  ['steer', 'Takes messages in mid-turn'],
  ['questions', 'Asks questions'],
  ['approvals', 'Asks for leave'],
  ['resume', 'Resumes its conversation'],
] as const;

function Agents() {
  const { data, error, refetch } = useHarnesses();
  if (error) return <Failed error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading what="agents" rows={3} />;
  return (
    <div className={styles.scroll} role="region" aria-label="Agents and what they can" tabIndex={0}>
      <Table fz="xs" verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Agent</Table.Th>
            <Table.Th>Version</Table.Th>
            {CAPABILITIES.map(([name, text]) => (
              <Table.Th key={name}>{text}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {data.items.map(({ name, version, capabilities }) => (
            <Table.Tr key={name}>
              <Table.Td>{name}</Table.Td>
              <Table.Td className="mono">{version}</Table.Td>
              {CAPABILITIES.map(([capability]) => (
                <Table.Td key={capability}>{capabilities[capability] ? 'yes' : 'no'}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function Limits() {
  const { data, error, refetch } = useLimits(null, null);
  if (error) return <Failed error={error} onAgain={() => void refetch()} />;
  return data ? <LimitsList limits={data.limits} /> : <Loading what="limits" />;
}
