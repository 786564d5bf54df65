import { useState } from 'react';
import { Button, Group, Loader, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { TurnDocument } from '@hangar/contracts';
import { Markdown } from '../../../components/markdown.tsx';
import { Failed } from '../../../components/page-states.tsx';
import { Dot } from '../../../components/state-dot.tsx';
import { TimeAgo, useNow } from '../../../components/time-ago.tsx';
import { writingKey, type Writing } from '../../../lib/activity-live.ts';
import { usageText } from '../../../lib/quantities.ts';
import { OUTCOMES } from '../../../lib/session-words.ts';
import { lasting } from '../../../lib/time.ts';
import { entriesOf, workText, type Entry } from '../../../lib/turn-entries.ts';
import { useOpenedSession } from '../session-context.tsx';
import { FileRow, ToolRow } from './entry-rows.tsx';
import { useTurnActivity } from './turn-activity.ts';
import styles from './conversation.module.css';

interface TurnProps {
  turn: TurnDocument;
  /** Its activity comes live, from its first item on. */
  isLive: boolean;
}

/** One message and what the agent made of it. */
export function TurnView({ turn, isLive }: TurnProps) {
  const { id } = useOpenedSession();
  const [isOpen, setOpen] = useState(isLive);
  const activity = useTurnActivity(id, turn.number, isOpen && !isLive);
  const entries = entriesOf(activity.data ?? [], turn.message_id);
  return (
    <section className={styles.turn} aria-label={`Turn ${turn.number}`}>
      <PersonMessage text={turn.message} />
      {!isOpen && <Markdown text={turn.summary} />}
      {isOpen &&
        entries.map((entry) => <EntryView key={entry.key} entry={entry} steered={turn.steered} />)}
      {isOpen && isLive && <WritingView turn={turn.number} />}
      {isOpen && activity.isLoading && <Loader size="xs" aria-label="Loading what the agent did" />}
      {isOpen && activity.isError && <Failed error={activity.error} />}
      {isOpen && !isLive && activity.isSuccess && entries.length === 0 && (
        <Markdown text={turn.summary} />
      )}
      {turn.error && (
        <Text size="sm" c="var(--hangar-bad)">
          {turn.error}
        </Text>
      )}
      <Group gap="xs">
        <TurnEnd turn={turn} work={isOpen ? workText(entries) : ''} />
        {!isLive && (
          <Button variant="subtle" size="compact-xs" onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Show the summary only' : 'Show what it did'}
          </Button>
        )}
      </Group>
    </section>
  );
}

const PersonMessage = ({ text, isSteering = false }: { text: string; isSteering?: boolean }) => (
  <div className={styles.person}>
    {isSteering && (
      <Text size="xs" c="dimmed">
        While it worked
      </Text>
    )}
    <LongText text={text} />
  </div>
);

/** More than this is shown when it is asked for. */
const LINES_SHOWN = 14;
const CHARACTERS_SHOWN = 1500;

function LongText({ text }: { text: string }) {
  const isLong = text.length > CHARACTERS_SHOWN || text.split('\n').length > LINES_SHOWN;
  const [isOpen, setOpen] = useState(!isLong);
  return (
    <>
      <Text size="md" className={styles.words} lineClamp={isOpen ? undefined : LINES_SHOWN}>
        {text}
      </Text>
      {isLong && (
        <Button variant="subtle" size="compact-xs" onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : 'Show all of it'}
        </Button>
      )}
    </>
  );
}

function EntryView({ entry, steered }: { entry: Entry; steered: TurnDocument['steered'] }) {
  const { cwd } = useOpenedSession();
  switch (entry.kind) {
    case 'message':
      return <Markdown text={entry.text} />;
    case 'steered': {
      const message = steered.find(({ message_id }) => message_id === entry.messageId);
      return message ? <PersonMessage text={message.text} isSteering /> : null;
    }
    case 'tool':
      return <ToolRow entry={entry} />;
    case 'files':
      return <FileRow files={entry.files} cwd={cwd} />;
    case 'notice':
      return (
        <Text size="xs" c="dimmed">
          {entry.text}
        </Text>
      );
  }
}

/** What no message has yet: it goes when the message that has it whole comes. */
function WritingView({ turn }: { turn: number }) {
  const { id } = useOpenedSession();
  const { data } = useQuery<Writing | null>({
    queryKey: writingKey(id),
    queryFn: () => null,
    enabled: false,
  });
  if (!data || data.turn !== turn) return null;
  return (
    <div className={styles.writing} aria-hidden>
      <Markdown text={data.text} />
    </div>
  );
}

function TurnEnd({ turn, work }: { turn: TurnDocument; work: string }) {
  const now = useNow();
  const from = turn.started_at ?? turn.requested_at;
  if (turn.finished_at === null)
    return (
      <Group gap="xs" role="status">
        <Loader size="xs" type="dots" />
        <Text size="xs" c="dimmed">
          {turn.started_at === null ? 'Starting the agent' : `Working for ${lasting(from, now)}`}
          {work && ` · ${work}`}
        </Text>
      </Group>
    );
  const outcome = OUTCOMES[turn.outcome ?? ''] ?? { word: turn.outcome ?? '', color: 'gray' };
  return (
    <Stack gap={0}>
      <Group gap="xs">
        <Dot {...outcome} />
        <Text size="xs" c="dimmed">
          in {lasting(from, turn.finished_at)}
          {work && ` · ${work}`}
          {turn.usage && ` · ${usageText(turn.usage)}`} · <TimeAgo time={turn.finished_at} />
        </Text>
      </Group>
    </Stack>
  );
}
