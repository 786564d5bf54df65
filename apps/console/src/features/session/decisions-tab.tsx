import { useState } from 'react';
import { Button, Code, Group, NativeSelect, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { DecisionDocument } from '@hangar/contracts';
import { Empty, Failed, Loading } from '../../components/page-states.tsx';
import { Dot } from '../../components/state-dot.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useClient } from '../../lib/client.tsx';
import { keys } from '../../lib/queries.ts';
import { aboutOf } from '../../lib/turn-entries.ts';
import { PermissionsSetting } from './permissions-setting.tsx';
import { useOpenedSession } from './session-context.tsx';
import styles from './rows.module.css';

const ROWS_READ = 100;

/** The tool calls of a turn, allowed or denied, with the reason and who decided [A3]. */
export function DecisionsTab() {
  const { id, turns } = useOpenedSession();
  const newest = turns.at(-1)?.number ?? null;
  const [chosen, setChosen] = useState<number | null>(null);
  const turn = chosen ?? newest;
  const client = useClient();
  const decisions = useInfiniteQuery({
    queryKey: keys.decisions(id, turn),
    queryFn: ({ pageParam, signal }) =>
      client.decisions.list(
        id,
        { turn: turn ?? undefined, limit: ROWS_READ, cursor: pageParam },
        { signal },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    enabled: turn !== null,
  });
  const rows = decisions.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <div className={styles.scroller} role="region" aria-label="Decisions" tabIndex={0}>
      <Group p="sm" gap="sm" align="end">
        {newest !== null && (
          <NativeSelect
            size="xs"
            label="Turn"
            value={String(turn)}
            onChange={(event) => setChosen(Number(event.currentTarget.value))}
            data={turns.toReversed().map(({ number, finished_at }) => ({
              value: String(number),
              label: `${number}${finished_at === null ? ' (running)' : ''}`,
            }))}
          />
        )}
        <PermissionsSetting />
      </Group>
      {turn !== null && decisions.isPending && <Loading what="the decisions" />}
      {decisions.isError && (
        <Failed error={decisions.error} onAgain={() => void decisions.refetch()} />
      )}
      {(turn === null || decisions.isSuccess) && rows.length === 0 && (
        <Empty icon="check" title="No tool call was decided in this turn">
          Each tool call of the agent is on record here: allowed or denied, why, and by whom.
        </Empty>
      )}
      <ul className={styles.rows}>
        {rows.map((row) => (
          <Decision key={row.cursor} row={row} />
        ))}
      </ul>
      {decisions.hasNextPage && (
        <Button
          variant="subtle"
          m="sm"
          loading={decisions.isFetchingNextPage}
          onClick={() => void decisions.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </div>
  );
}

const DECIDERS: Record<string, string> = {
  mode: 'by the mode of the session',
  person: 'by a person',
  harness: 'by the agent itself',
};

const Decision = ({ row }: { row: DecisionDocument }) => (
  <li>
    <details>
      <summary className={styles.row}>
        <Dot
          color={row.verdict === 'allow' ? 'teal' : 'red'}
          word={row.verdict === 'allow' ? 'Allowed' : 'Denied'}
        />
        <Text size="sm" fw={600} span>
          {row.tool}
        </Text>
        <span className={`mono ${styles.about}`}>{aboutOf(row.input)}</span>
        <Text size="xs" c="dimmed" span>
          {DECIDERS[row.decided_by] ?? `by ${row.decided_by}`} · <TimeAgo time={row.decided_at} />
        </Text>
      </summary>
      {row.reason && (
        <Text size="sm" px="sm">
          {row.reason}
        </Text>
      )}
      <Code block tabIndex={0} m="xs" mah={320} style={{ overflow: 'auto' }}>
        {row.input}
      </Code>
    </details>
  </li>
);
