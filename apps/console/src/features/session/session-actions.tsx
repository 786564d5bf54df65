import { ActionIcon, Button, Group, Menu } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { SessionDocument } from '@hangar/contracts';
import { Icon } from '../../components/icons.tsx';
import { useAct } from '../../lib/act.ts';
import { useClient, useMay } from '../../lib/client.tsx';
import { runningTurn } from '../../lib/session-words.ts';
import { DeleteDialog } from './delete-dialog.tsx';
import { RenameDialog } from './rename-dialog.tsx';
import { useOpenedSession } from './session-context.tsx';
import { MenuItemLink } from '../../components/links.tsx';

type Verb = 'open' | 'suspend' | 'interrupt' | 'retry' | 'continue';

/** What is next in each state comes first, as a button; `label` names what happens. */
function nextVerbs(session: SessionDocument): { verb: Verb; label: string }[] {
  switch (session.state) {
    case 'ACTIVE':
      return runningTurn(session) ? [{ verb: 'interrupt', label: 'Stop the turn' }] : [];
    case 'IDLE':
      return [{ verb: 'suspend', label: 'Suspend' }];
    case 'SUSPENDED':
      return [{ verb: 'open', label: session.checkpoints.length > 0 ? 'Resume' : 'Open' }];
    case 'FAILED':
      return [{ verb: 'open', label: 'Open again' }];
    case 'INTERRUPTED':
      return [
        { verb: 'retry', label: 'Retry' },
        { verb: 'continue', label: 'Continue' },
      ];
    case 'STARTING':
    case 'RESUMING':
    case 'SUSPENDING':
    case 'ARCHIVED':
      return [];
  }
}

export function SessionActions() {
  const session = useOpenedSession();
  const client = useClient();
  const mayWrite = useMay('write');
  const { act, isActing } = useAct();
  const [isRenaming, rename] = useDisclosure(false);
  const [isDeleting, remove] = useDisclosure(false);
  if (!mayWrite) return null;
  const { id, state } = session;
  const isArchived = state === 'ARCHIVED';
  const hasSandbox = ['IDLE', 'ACTIVE', 'INTERRUPTED'].includes(state);
  return (
    <Group gap={6} wrap="nowrap">
      {nextVerbs(session).map(({ verb, label }) => (
        <Button
          key={verb}
          variant="default"
          loading={isActing}
          onClick={() => act(() => client.sessions[verb](id))}
        >
          {label}
        </Button>
      ))}
      <Menu position="bottom-end" width={200}>
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label="More actions">
            <Icon name="more" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item disabled={!hasSandbox} onClick={() => act(() => client.checkpoints.take(id))}>
            Take a checkpoint now
          </Menu.Item>
          {state === 'ACTIVE' && (
            <Menu.Item onClick={() => act(() => client.sessions.suspend(id))}>Suspend</Menu.Item>
          )}
          <Menu.Item disabled={isArchived} onClick={rename.open}>
            Rename
          </Menu.Item>
          <MenuItemLink to="/audit" search={{ session: id }}>
            Read its log
          </MenuItemLink>
          <Menu.Divider />
          <Menu.Item disabled={isArchived} onClick={() => act(() => client.sessions.archive(id))}>
            Archive
          </Menu.Item>
          <Menu.Item color="red" onClick={remove.open}>
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {isRenaming && <RenameDialog onClose={rename.close} />}
      {isDeleting && <DeleteDialog onClose={remove.close} />}
    </Group>
  );
}
