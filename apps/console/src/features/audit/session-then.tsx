import type { ReactNode } from 'react';
import { Paper, Stack, Text, Title } from '@mantine/core';
import type { SessionDocument } from '@hangar/contracts';
import { Dot, StateDot } from '../../components/state-dot.tsx';
import { continuityOf } from '../../lib/continuity-words.ts';
import { plural } from '../../lib/quantities.ts';
import { OUTCOMES } from '../../lib/session-words.ts';

/** A session as it was at a version of its log. */
export const SessionThen = ({ session }: { session: SessionDocument }) => (
  <Paper withBorder p="sm" component="section" aria-label="The session as it was then">
    <Title order={3} size="h6" mb={6}>
      The session then (version {session.version})
    </Title>
    <Stack gap={6}>
      <StateDot state={session.state} />
      <Text size="sm">{session.state_reason}</Text>
      <Line name="Turns">
        {session.turns.length === 0 && 'none'}
        {session.turns.map(({ number, outcome, message }) => (
          <div key={number}>
            {number}. <Dot {...(OUTCOMES[outcome ?? ''] ?? { word: 'Running', color: 'indigo' })} />{' '}
            <Text span size="xs" c="dimmed" lineClamp={1}>
              {message}
            </Text>
          </div>
        ))}
      </Line>
      <Line name="Queue">{plural(session.queue.length, 'message')}</Line>
      <Line name="Waited on a person">
        {session.attention.length === 0
          ? 'nothing'
          : session.attention.map(({ text }) => text).join('; ')}
      </Line>
      <Line name="Checkpoints">
        <span className="mono">{session.checkpoints.map(({ id }) => id).join(', ') || 'none'}</span>
      </Line>
      <Line name="Sandbox">
        <span className="mono">{session.sandbox_id ?? 'none'}</span>
      </Line>
      {continuityOf(session.continuity)?.map((line) => (
        <Text size="xs" key={line}>
          {line}
        </Text>
      ))}
    </Stack>
  </Paper>
);

const Line = ({ name, children }: { name: string; children: ReactNode }) => (
  <Text size="sm" component="div">
    <Text span size="xs" c="dimmed">
      {name}:{' '}
    </Text>
    {children}
  </Text>
);
