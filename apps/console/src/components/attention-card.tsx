import { Code, Group, Paper, Text } from '@mantine/core';
import type { CardDocument, SessionDocument } from '@hangar/contracts';
import { useMay } from '../lib/client.tsx';
import { CardAnswer } from './card-answer.tsx';
import { Dot } from './state-dot.tsx';
import { TimeAgo } from './time-ago.tsx';

const KINDS: Record<string, { word: string; color: string }> = {
  question: { word: 'Question', color: 'blue' },
  decision: { word: 'Decision', color: 'orange' },
  interrupted: { word: 'Interrupted', color: 'orange' },
  lost_state: { word: 'Something was lost', color: 'red' },
  delivery_failed: { word: 'Not delivered', color: 'red' },
  limit: { word: 'Limit', color: 'orange' },
};

interface CardProps {
  card: CardDocument;
  session: Pick<SessionDocument, 'id' | 'state'>;
}

/** What waits on a person, and how to answer it. */
export function AttentionCard({ card, session }: CardProps) {
  const { word, color } = KINDS[card.kind] ?? { word: card.kind, color: 'gray' };
  const mayAnswer = useMay('write');
  return (
    <Paper withBorder p="sm" component="section" aria-label={`${word}: ${card.text}`}>
      <Group justify="space-between" mb={6}>
        <Dot color={color} word={word} />
        <Text size="xs" c="dimmed">
          since <TimeAgo time={card.since} />
        </Text>
      </Group>
      {card.questions.length < 2 && (
        <Text size="sm" fw={600} style={{ whiteSpace: 'pre-wrap' }}>
          {card.text}
        </Text>
      )}
      {card.tool && (
        <Code block tabIndex={0} mt={6} mah={240} style={{ overflow: 'auto' }}>
          {card.tool.name} {card.tool.input}
        </Code>
      )}
      {mayAnswer && <CardAnswer card={card} session={session} />}
    </Paper>
  );
}
