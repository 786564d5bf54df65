import { Box, Group, Text, Title } from '@mantine/core';
import { Icon } from '../../components/icons.tsx';
import { StateDot } from '../../components/state-dot.tsx';
import { repoText } from '../../lib/repo-text.ts';
import { titleOf } from '../../lib/session-words.ts';
import { SessionActions } from './session-actions.tsx';
import { useOpenedSession } from './session-context.tsx';
import { ActionIconLink } from '../../components/links.tsx';

/** What it is, how it is, and what can be done with it. */
export function SessionHeader() {
  const session = useOpenedSession();
  return (
    <Group px="sm" py={6} gap="xs" wrap="nowrap" justify="space-between">
      <Group gap="xs" wrap="nowrap" miw={0}>
        <ActionIconLink
          to="/sessions"
          variant="subtle"
          color="gray"
          aria-label="Back to the sessions"
        >
          <Icon name="back" />
        </ActionIconLink>
        <Box miw={0}>
          <Title order={1} size="h5" lineClamp={2}>
            {titleOf(session)}
          </Title>
          <Group gap={6} wrap="nowrap" miw={0}>
            <Box aria-live="polite">
              <StateDot state={session.state} />
            </Box>
            <Text size="xs" c="dimmed" truncate>
              {session.state_reason} ·{' '}
              <span className="mono">{repoText(session.repo) ?? session.cwd}</span>
            </Text>
          </Group>
        </Box>
      </Group>
      <SessionActions />
    </Group>
  );
}
