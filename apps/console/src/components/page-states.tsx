import type { ReactNode } from 'react';
import { Alert, Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { HangarError } from '@hangar/contracts';
import { Icon, type IconName } from './icons.tsx';

/** Each page has these: loading, empty, error, and what it is for. */

export const Loading = ({ what, rows = 5 }: { what: string; rows?: number }) => (
  <Stack gap="xs" role="status" aria-label={`Loading ${what}`} p="md">
    {Array.from({ length: rows }, (_, row) => (
      <Skeleton key={row} height={20} width={`${90 - row * 9}%`} />
    ))}
  </Stack>
);

interface EmptyProps {
  icon: IconName;
  title: string;
  /** What it is, and the next step. */
  children: ReactNode;
  action?: ReactNode;
}

export const Empty = ({ icon, title, children, action }: EmptyProps) => (
  <Stack align="center" gap="xs" py={64} px="md">
    <Icon name={icon} size={28} />
    <Title order={2} size="h4">
      {title}
    </Title>
    <Text c="dimmed" size="sm" ta="center" maw={440} component="div">
      {children}
    </Text>
    {action}
  </Stack>
);

export function Failed({ error, onAgain }: { error: unknown; onAgain?: () => void }) {
  const failure = HangarError.from(error);
  return (
    <Alert color="red" variant="light" title={failure.message} role="alert" m="md">
      <Group justify="space-between" gap="xs">
        <Text size="sm">{failure.hint ?? 'Try again; the log of the server has the cause.'}</Text>
        {onAgain && (
          <Button variant="default" onClick={onAgain}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  );
}
