import type { ReactNode } from 'react';
import { Divider, NativeSelect, Stack, Text, Title } from '@mantine/core';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useAct } from '../../lib/act.ts';
import { useClient, useMay } from '../../lib/client.tsx';
import { continuityOf } from '../../lib/continuity-words.ts';
import { minutesText } from '../../lib/time.ts';
import { useOpenedSession } from './session-context.tsx';

/** Where it runs, how long it stays up, and what its last resume brought back. */
export function DetailsPanel() {
  const session = useOpenedSession();
  const { limits } = session;
  return (
    <Stack gap="md">
      <Stack gap={6}>
        <Field name="Agent">
          {session.harness}
          {session.model && <span className="mono"> {session.model}</span>}
        </Field>
        <Field name="Environment">{session.environment}</Field>
        <Field name="Repository">
          <span className="mono">{session.repo ?? 'none'}</span>
        </Field>
        <Field name="Branch">
          <span className="mono">{session.branch}</span>
          {session.base_branch && <> from {session.base_branch}</>}
        </Field>
        <Field name="Id">
          <span className="mono">{session.id}</span>
        </Field>
        <Field name="Name">
          <span className="mono">{session.name}</span>
        </Field>
        <Field name="Sandbox">
          <span className="mono">{session.sandbox_id ?? 'none now'}</span>
        </Field>
        <Field name="Created">
          <TimeAgo time={session.created_at} />
        </Field>
        <Field name="Last activity">
          <TimeAgo time={session.last_active_at} />
        </Field>
      </Stack>
      <IdleSetting />
      <ContinuityText />
      <Stack gap={4}>
        <Title order={2} size="h6">
          Limits
        </Title>
        <Text size="xs" c="dimmed">
          A turn takes at most {minutesText(limits.turn_minutes)}. The newest{' '}
          {limits.session_keep_checkpoints} checkpoints are kept. Up to {limits.messages_queued}{' '}
          messages wait.
        </Text>
      </Stack>
    </Stack>
  );
}

const Field = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <Text size="xs" c="dimmed">
      {name}
    </Text>
    <Text size="sm" component="div">
      {children}
    </Text>
  </div>
);

/** After which silence it suspends; 0 keeps it up. */
const IDLE_CHOICES = [15, 30, 120, 480, 0];

function IdleSetting() {
  const { id, idle_minutes, state } = useOpenedSession();
  const client = useClient();
  const mayWrite = useMay('write');
  const { act, isActing } = useAct();
  const minutes = [...new Set([...IDLE_CHOICES, idle_minutes])];
  return (
    <NativeSelect
      label="When idle"
      size="xs"
      disabled={!mayWrite || isActing || state === 'ARCHIVED'}
      value={String(idle_minutes)}
      data={minutes.map((value) => ({
        value: String(value),
        label: value === 0 ? 'Keep it up' : `Suspend after ${minutesText(value)}`,
      }))}
      onChange={(event) => {
        const value = Number(event.currentTarget.value);
        act(() => client.sessions.keep(id, value));
      }}
    />
  );
}

function ContinuityText() {
  const { continuity, conversation } = useOpenedSession();
  const words = continuityOf(continuity);
  if (!words) return null;
  return (
    <>
      <Divider />
      <Stack gap={4}>
        <Title order={2} size="h6">
          After the last resume
        </Title>
        {words.map((line) => (
          <Text size="xs" key={line}>
            {line}
          </Text>
        ))}
        {conversation === 'handoff' && (
          <Text size="xs">
            The conversation could not be resumed: the agent was given a summary of the work so far.
          </Text>
        )}
      </Stack>
    </>
  );
}
