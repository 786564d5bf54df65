import { useState, type SubmitEvent } from 'react';
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { TITLE_CHARACTERS_MAX } from '@hangar/contracts';
import { useAct } from '../../lib/act.ts';
import { useClient } from '../../lib/client.tsx';
import { useOpenedSession } from './session-context.tsx';

export function RenameDialog({ onClose }: { onClose(): void }) {
  const session = useOpenedSession();
  const client = useClient();
  const { tryTo, isActing } = useAct();
  const [name, setName] = useState(session.name);
  const [title, setTitle] = useState(session.title);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const changed = {
      ...(name !== session.name && { name }),
      ...(title !== session.title && { title }),
    };
    if (Object.keys(changed).length === 0) return onClose();
    void tryTo(() => client.sessions.rename(session.id, changed)).then((done) => done && onClose());
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title="Rename the session"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            label="Title"
            description="For people; the name is shown when it is empty."
            value={title}
            maxLength={TITLE_CHARACTERS_MAX}
            onChange={(event) => setTitle(event.currentTarget.value)}
            data-autofocus
          />
          <TextInput
            label="Name"
            description="For commands and links. The branch, the paths and the id stay."
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            required
          />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isActing}>
              Rename
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
