import { Box, Text, Tooltip } from '@mantine/core';
import { Dot } from '../components/state-dot.tsx';
import { useNow } from '../components/time-ago.tsx';
import { liveness } from '../lib/liveness.ts';
import { useStore } from '../lib/store.ts';
import { exact } from '../lib/time.ts';

/** Says when what is shown is old; while the line works there is nothing to say but `Live`. */
export function LineState() {
  const { state, lostAt, reason } = useStore(liveness);
  useNow();
  if (state !== 'stale' || lostAt === null)
    return (
      <Box role="status">
        <Dot
          color={state === 'live' ? 'teal' : 'gray'}
          word={state === 'live' ? 'Live' : 'Connecting'}
        />
      </Box>
    );
  const since = exact(new Date(lostAt).toISOString());
  return (
    <Tooltip label={`${reason} What you see is of ${since}. It goes on by itself.`}>
      <Box role="status" tabIndex={0}>
        <Dot color="orange" word="Out of date" />
        <Text size="xs" c="dimmed" visibleFrom="sm">
          as of {since}
        </Text>
      </Box>
    </Tooltip>
  );
}
