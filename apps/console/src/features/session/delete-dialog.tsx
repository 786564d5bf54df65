import { useState } from 'react';
import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { HangarError } from '@hangar/contracts';
import { useClient } from '../../lib/client.tsx';
import { keys } from '../../lib/queries.ts';
import { titleOf } from '../../lib/session-words.ts';
import { useOpenedSession } from './session-context.tsx';

/** Asks first; and a second time where the server says that work would be lost, and only there. */
export function DeleteDialog({ onClose }: { onClose(): void }) {
  const session = useOpenedSession();
  const client = useClient();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [failure, setFailure] = useState<HangarError | null>(null);
  const force = failure?.code === 'conflict';
  const [isActing, setActing] = useState(false);
  const remove = async (): Promise<void> => {
    setActing(true);
    try {
      await client.sessions.delete(session.id, { force });
    } catch (error) {
      setFailure(HangarError.from(error));
      setActing(false);
      return;
    }
    await navigate({ to: '/sessions' });
    queries.removeQueries({ queryKey: keys.session(session.id) });
    await queries.invalidateQueries({ queryKey: keys.sessions });
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title="Delete the session"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="sm">
        <Text size="sm">
          <b>{titleOf(session)}</b>, its sandbox, its checkpoints and its conversation are removed.
          This cannot be undone. The audit trail keeps who did it and when.
        </Text>
        {failure && (
          <Alert color="red" variant="light" title={failure.message} role="alert">
            {failure.hint}
          </Alert>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} data-autofocus>
            Keep it
          </Button>
          <Button color="red" loading={isActing} onClick={() => void remove()}>
            {force ? 'Delete it all the same' : 'Delete'}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
