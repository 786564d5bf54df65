import { Box, Group, Text } from '@mantine/core';
import type { SessionStateName } from '@hangar/contracts';
import { STATES } from '../lib/session-words.ts';

/** A coloured dot and its word: never the colour alone. */
export const Dot = ({ color, word }: { color: string; word: string }) => (
  <Group gap={6} wrap="nowrap" display="inline-flex">
    <Box w={8} h={8} bg={`${color}.6`} style={{ borderRadius: 4, flexShrink: 0 }} aria-hidden />
    <Text span size="sm" style={{ whiteSpace: 'nowrap' }}>
      {word}
    </Text>
  </Group>
);

export const StateDot = ({ state }: { state: SessionStateName }) => <Dot {...STATES[state]} />;
