import { ActionIcon, Group, Paper, Stack, Text, Tooltip } from '@mantine/core';
import type { QueuedMessageDocument } from '@hangar/contracts';
import { Icon } from '../../components/icons.tsx';
import { useAct } from '../../lib/act.ts';
import { useClient, useMay } from '../../lib/client.tsx';
import { queuedText } from '../../lib/queue-words.ts';
import { runningTurn } from '../../lib/session-words.ts';
import { useOpenedSession } from './session-context.tsx';

/** Messages that the agent does not have yet; each can be taken back until it has. */
export function QueueRows() {
  const session = useOpenedSession();
  const running = runningTurn(session)?.message_id;
  const waiting = session.queue.filter(({ message_id }) => message_id !== running);
  const inLine = waiting.filter(({ is_steering }) => !is_steering);
  if (waiting.length === 0) return null;
  return (
    <Stack gap={6} role="list" aria-label="Queued messages">
      {waiting.map((message) => (
        <QueueRow key={message.message_id} message={message} place={inLine.indexOf(message)} />
      ))}
    </Stack>
  );
}

function QueueRow({ message, place }: { message: QueuedMessageDocument; place: number }) {
  const { id, state } = useOpenedSession();
  const client = useClient();
  const mayWrite = useMay('write');
  const { act, isActing } = useAct();
  return (
    <Paper withBorder px="sm" py={6} role="listitem" style={{ borderStyle: 'dashed' }}>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <div>
          <Text size="sm" lineClamp={3} style={{ whiteSpace: 'pre-wrap' }}>
            {message.text}
          </Text>
          <Text size="xs" c="dimmed">
            {queuedText(message, state, place)}
          </Text>
        </div>
        {mayWrite && (
          <Tooltip label="Take it back">
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Take back: ${message.text.slice(0, 60)}`}
              loading={isActing}
              onClick={() => act(() => client.sessions.takeBack(id, message.message_id))}
            >
              <Icon name="cross" />
            </ActionIcon>
          </Tooltip>
        )}
      </Group>
    </Paper>
  );
}
