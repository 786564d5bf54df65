import { useEffect, useRef } from 'react';
import { Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import type { SessionSummary } from '@hangar/contracts';
import { Icon } from '../../components/icons.tsx';
import { Dot, StateDot } from '../../components/state-dot.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { plural } from '../../lib/quantities.ts';
import { titleOf } from '../../lib/session-words.ts';
import { repoText } from '../../lib/repo-text.ts';
import styles from './session-rows.module.css';

interface RowsProps {
  rows: SessionSummary[];
  hasMore: boolean;
  isReading: boolean;
  onMore(): void;
}

const ROW_PX = 68;
/** The next page is asked for when this many rows are left below. */
const ROWS_AHEAD = 15;

/** Only the rows in sight are in the page, so that thousands cost nothing. */
export function SessionRows({ rows, hasMore, isReading, onMore }: RowsProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
    getItemKey: (index) => rows[index]?.id ?? index,
  });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && !isReading && last >= rows.length - ROWS_AHEAD) onMore();
  }, [hasMore, isReading, last, rows.length, onMore]);
  return (
    <div ref={scroller} className={styles.scroller}>
      <ul className={styles.list} style={{ height: virtual.getTotalSize() }} aria-label="Sessions">
        {shown.map(({ index, start, key }) => {
          const row = rows[index];
          return (
            row && (
              <li key={key} className={styles.item} style={{ transform: `translateY(${start}px)` }}>
                <Row row={row} />
              </li>
            )
          );
        })}
      </ul>
    </div>
  );
}

const Row = ({ row }: { row: SessionSummary }) => (
  <Link to="/sessions/$ref" params={{ ref: row.id }} className={styles.row}>
    <div className={styles.head}>
      <Text fw={600} size="sm" truncate className={styles.title}>
        {titleOf(row)}
      </Text>
      <Group gap="xs" wrap="nowrap">
        {row.attention_count > 0 && (
          <Dot
            color="orange"
            word={row.attention_count === 1 ? 'Needs you' : `Needs you: ${row.attention_count}`}
          />
        )}
        {row.queue_count > 0 && (
          <Text size="xs" c="dimmed" visibleFrom="xs">
            {plural(row.queue_count, 'message')} queued
          </Text>
        )}
        <StateDot state={row.state} />
      </Group>
    </div>
    <div className={styles.head}>
      <Text size="xs" c="dimmed" truncate>
        {row.last_summary || row.state_reason}
      </Text>
    </div>
    <div className={styles.head}>
      <Text size="xs" c="dimmed" truncate component="span" className={styles.place}>
        <span className="mono">{repoText(row.repo) ?? row.name}</span>
        <Icon name="branch" size={12} />
        <span className="mono">{row.branch}</span>
        <span>· {row.harness}</span>
      </Text>
      <Text size="xs" c="dimmed">
        <TimeAgo time={row.last_active_at} />
      </Text>
    </div>
  </Link>
);
