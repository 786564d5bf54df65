import type { KeyboardEvent } from 'react';
import { ActionIcon, Button, Group, Menu, Text, Textarea } from '@mantine/core';
import type { SendMessageInput } from '@hangar/contracts';
import { Icon } from '../../components/icons.tsx';
import { useAct } from '../../lib/act.ts';
import { useClient, useMay } from '../../lib/client.tsx';
import { useDraft } from '../../lib/drafts.ts';
import { useCan } from '../../lib/session-query.ts';
import { runningTurn, sendingTo } from '../../lib/session-words.ts';
import { CommentRows } from './comment-rows.tsx';
import { useOpenedSession } from './session-context.tsx';
import styles from './message-box.module.css';

type Mode = NonNullable<SendMessageInput['mode']>;

/** Always at the foot of the page; says beforehand what becomes of the message. */
export function MessageBox() {
  const session = useOpenedSession();
  const client = useClient();
  const mayWrite = useMay('write');
  const steers = useCan(session.harness, 'steer');
  const { draft, change, clear } = useDraft(session.id);
  const { tryTo, isActing } = useAct();
  const { label, hint, isPossible } = sendingTo(session, steers);
  const { text, comments } = draft;
  const hasText = text.trim() !== '';
  const canSend = mayWrite && isPossible && (hasText || comments.length > 0);

  const send = async (mode: Mode = 'auto'): Promise<void> => {
    if (!canSend || isActing) return;
    const body = {
      ...(hasText && { message: text }),
      comments: comments.map(({ path, line, side, code, text: said }) => ({
        path,
        line,
        side,
        code,
        text: said,
      })),
      mode,
    };
    if (await tryTo(() => client.sessions.send(session.id, body))) clear();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void send();
  };
  return (
    <form
      className={styles.box}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <CommentRows />
      <Textarea
        aria-label="Message to the agent"
        placeholder={mayWrite ? 'Message to the agent' : 'Your token may read only'}
        autosize
        minRows={1}
        maxRows={10}
        disabled={!mayWrite || session.state === 'ARCHIVED'}
        value={text}
        onChange={(event) => change({ text: event.currentTarget.value })}
        onKeyDown={press}
      />
      <Group justify="space-between" gap="xs" wrap="nowrap" mt={6}>
        <Text size="xs" c="dimmed" lineClamp={2} aria-live="polite">
          {hint}
        </Text>
        <Group gap={2} wrap="nowrap">
          <Button type="submit" disabled={!canSend} loading={isActing} title="Ctrl+Enter (⌘+Enter)">
            {comments.length > 0 && !hasText ? 'Send comments' : label}
          </Button>
          {runningTurn(session) && (
            <OtherWays
              canSend={canSend}
              steers={steers !== false}
              onSend={(mode) => void send(mode)}
            />
          )}
        </Group>
      </Group>
    </form>
  );
}

interface OtherWaysProps {
  canSend: boolean;
  steers: boolean;
  onSend(mode: Mode): void;
}

/** While a turn runs there is more than one thing that a message can do. */
const OtherWays = ({ canSend, steers, onSend }: OtherWaysProps) => (
  <Menu position="top-end">
    <Menu.Target>
      <ActionIcon variant="default" size={30} aria-label="Other ways to send" disabled={!canSend}>
        <Icon name="down" />
      </ActionIcon>
    </Menu.Target>
    <Menu.Dropdown>
      {steers && <Menu.Item onClick={() => onSend('queue')}>Queue for the next turn</Menu.Item>}
      <Menu.Item onClick={() => onSend('interrupt')}>
        Stop the turn and start with this one
      </Menu.Item>
    </Menu.Dropdown>
  </Menu>
);
