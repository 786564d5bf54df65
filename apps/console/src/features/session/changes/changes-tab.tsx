import { useState } from 'react';
import { Button, Group, NativeSelect, SegmentedControl, Text, Title } from '@mantine/core';
import { useLocalStorage, useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { HangarError, type Changes } from '@hangar/contracts';
import { Empty, Failed, Loading } from '../../../components/page-states.tsx';
import { TimeAgo } from '../../../components/time-ago.tsx';
import { useClient } from '../../../lib/client.tsx';
import { countLines } from '../../../lib/diff-lines.ts';
import { plural } from '../../../lib/quantities.ts';
import { keys } from '../../../lib/queries.ts';
import { exact } from '../../../lib/time.ts';
import { MessageBox } from '../message-box.tsx';
import { useOpenedSession } from '../session-context.tsx';
import { ChangedFile } from './changed-file.tsx';
import styles from './changes.module.css';

const AREAS = [
  ['committed', 'Committed'],
  ['staged', 'Staged'],
  ['unstaged', 'Unstaged'],
  ['untracked', 'Untracked'],
] as const;

type DiffStyle = 'unified' | 'split';

/** The work against its base, a diff per file, with comments for the agent. */
export function ChangesTab() {
  const { id } = useOpenedSession();
  const { checkpoint = null } = useSearch({ from: '/sessions/$ref/changes' });
  const client = useClient();
  const changes = useQuery({
    queryKey: keys.changes(id, checkpoint),
    queryFn: ({ signal }) =>
      client.sandboxes.changes(id, checkpoint === null ? {} : { checkpoint }, { signal }),
    retry: false,
  });
  return (
    <>
      <div className={styles.scroller} role="region" aria-label="Changes" tabIndex={0}>
        <Source
          changes={changes.data}
          isReading={changes.isFetching}
          onRead={() => void changes.refetch()}
        />
        <Body changes={changes.data} error={changes.error} onAgain={() => void changes.refetch()} />
      </div>
      <MessageBox />
    </>
  );
}

interface BodyProps {
  changes: Changes | undefined;
  error: Error | null;
  onAgain(): void;
}

function Body({ changes, error, onAgain }: BodyProps) {
  if (error)
    return HangarError.from(error).code === 'conflict' ? (
      <Empty icon="file" title="Nothing to compare yet">
        {HangarError.from(error).hint ?? error.message}
      </Empty>
    ) : (
      <Failed error={error} onAgain={onAgain} />
    );
  if (!changes) return <Loading what="the changes" />;
  if (changes.files.length === 0)
    return (
      <Empty icon="file" title="No changes">
        The tree is what its base has: no commits of its own, nothing staged, unstaged or untracked.
      </Empty>
    );
  return <Files changes={changes} />;
}

interface SourceProps {
  changes: Changes | undefined;
  isReading: boolean;
  onRead(): void;
}

/** Where the changes are read from: the tree as it is, or a checkpoint. */
function Source({ changes, isReading, onRead }: SourceProps) {
  const { id, checkpoints } = useOpenedSession();
  const { checkpoint } = useSearch({ from: '/sessions/$ref/changes' });
  const navigate = useNavigate();
  const choose = (value: string): void =>
    void navigate({
      to: '/sessions/$ref/changes',
      params: { ref: id },
      search: value === '' ? {} : { checkpoint: value },
    });
  return (
    <Group gap="xs" p="sm" justify="space-between">
      <Group gap="xs">
        <NativeSelect
          size="xs"
          aria-label="Which state"
          value={checkpoint ?? ''}
          onChange={(event) => choose(event.currentTarget.value)}
          data={[
            { value: '', label: 'As it is now' },
            ...checkpoints.toReversed().map((each) => ({
              value: each.id,
              label: `Checkpoint of turn ${each.turn}, ${exact(each.taken_at)}`,
            })),
          ]}
        />
        {changes && (
          <Text size="xs" c="dimmed">
            {changes.source === 'sandbox' ? 'read from the sandbox ' : 'of a checkpoint taken '}
            <TimeAgo time={changes.taken_at} />
            {changes.base && (
              <>
                {' '}
                against <span className="mono">{changes.base.slice(0, 10)}</span>
              </>
            )}
          </Text>
        )}
      </Group>
      <Button variant="default" size="xs" loading={isReading} onClick={onRead}>
        Read again
      </Button>
    </Group>
  );
}

/** Diffs that are open at first: more would be a long page, and each has to be coloured. */
const FILES_OPEN = 12;
const LINES_OPEN = 800;

function Files({ changes }: { changes: Changes }) {
  const isWide = useMediaQuery('(min-width: 75em)') ?? true;
  const [style, setStyle] = useLocalStorage<DiffStyle>({
    key: 'hangar.diff-style',
    defaultValue: 'unified',
  });
  const [openAtFirst] = useState(
    () => new Set(changes.files.slice(0, FILES_OPEN).map((file) => keyOf(file))),
  );
  const total = changes.files.map(({ diff }) => countLines(diff));
  const sum = (of: 'added' | 'removed'): number => total.reduce((all, each) => all + each[of], 0);
  return (
    <>
      <Group gap="xs" px="sm" pb="xs" justify="space-between">
        <Text size="sm">
          {plural(changes.files.length, 'file')}, {plural(sum('added'), 'line')} added,{' '}
          {sum('removed')} removed
        </Text>
        {isWide && (
          <SegmentedControl
            size="xs"
            aria-label="How diffs are shown"
            value={style}
            onChange={(value) => setStyle(value as DiffStyle)}
            data={[
              { value: 'unified', label: 'Unified' },
              { value: 'split', label: 'Side by side' },
            ]}
          />
        )}
      </Group>
      {changes.truncated && (
        <Text size="xs" c="dimmed" px="sm" pb="xs">
          There is more than this view shows: some diffs are left out, or cut. The shell has all of
          it.
        </Text>
      )}
      {AREAS.map(([area, word]) => {
        const files = changes.files.filter((file) => file.area === area);
        if (files.length === 0) return null;
        return (
          <section key={area} className={styles.area} aria-label={word}>
            <Title order={2} size="h6">
              {word} <span className={styles.count}>{files.length}</span>
            </Title>
            {files.map((file) => (
              <ChangedFile
                key={keyOf(file)}
                file={file}
                diffStyle={isWide ? style : 'unified'}
                isOpenAtFirst={
                  openAtFirst.has(keyOf(file)) && (file.diff ?? '').split('\n').length < LINES_OPEN
                }
              />
            ))}
          </section>
        );
      })}
    </>
  );
}

/** One path can have changes in several areas. */
const keyOf = (file: Changes['files'][number]): string => `${file.area}:${file.path}`;
