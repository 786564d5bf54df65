import { useEffect, useState } from 'react';
import { Button, Group, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { OpenTerminalInput, TerminalDocument } from '@hangar/contracts';
import { Empty, Failed, Loading } from '../../../components/page-states.tsx';
import { useAct } from '../../../lib/act.ts';
import { useClient, useMay } from '../../../lib/client.tsx';
import { keys } from '../../../lib/queries.ts';
import { talkBlockedBy } from '../../../lib/session-words.ts';
import { useOpenedSession } from '../session-context.tsx';
import { TerminalView } from './terminal-view.tsx';
import styles from './terminals.module.css';

/** The terminals of the session's sandbox, and what can be done with them. */
function useTerminals() {
  const { id, state, talk } = useOpenedSession();
  const client = useClient();
  const queries = useQueryClient();
  const [chosen, setChosen] = useState<string | null>(null);
  const hasSandbox = ['IDLE', 'ACTIVE', 'INTERRUPTED'].includes(state);
  const list = useQuery({
    queryKey: keys.terminals(id),
    queryFn: ({ signal }) => client.terminals.list(id, { signal }),
    enabled: hasSandbox,
  });
  const talking = talk?.terminal_id ?? null;
  useEffect(() => {
    // A talk begins and ends by events of the session; shells are nobody's events.
    void queries.invalidateQueries({ queryKey: keys.terminals(id) });
  }, [queries, id, talking]);
  const items = hasSandbox ? (list.data?.items ?? []) : [];
  return {
    list,
    hasSandbox,
    items,
    shown: items.find((each) => each.id === chosen) ?? items.at(-1),
    choose: setChosen,
    open: async (kind: NonNullable<OpenTerminalInput['kind']>): Promise<void> => {
      const made = await client.terminals.open(id, { kind });
      setChosen(made.id);
      await queries.invalidateQueries({ queryKey: keys.terminals(id) });
    },
    close: async (terminal: TerminalDocument): Promise<void> => {
      await client.terminals.close(id, terminal.id);
      await queries.invalidateQueries({ queryKey: keys.terminals(id) });
    },
  };
}

type Terminals = ReturnType<typeof useTerminals>;

/** Shells in the session's sandbox, and the agent itself between turns; each goes on without us. */
export function TerminalsTab() {
  const { id, talk } = useOpenedSession();
  const mayWrite = useMay('write');
  const terminals = useTerminals();
  const { list, hasSandbox, items, shown, choose } = terminals;
  return (
    <div className={styles.page}>
      <Group gap="xs" p="xs" justify="space-between">
        <Group gap={4} role="group" aria-label="Terminals">
          {items.map((terminal) => (
            <Button
              key={terminal.id}
              size="compact-sm"
              variant={terminal.id === shown?.id ? 'light' : 'subtle'}
              aria-pressed={terminal.id === shown?.id}
              onClick={() => choose(terminal.id)}
            >
              {nameOf(terminal, items)}
            </Button>
          ))}
        </Group>
        {mayWrite && <Verbs {...terminals} />}
      </Group>
      {talk !== null && (
        <Text size="xs" c="dimmed" px="sm" pb="xs">
          While somebody talks with the agent in a terminal, messages wait and no turn begins.
        </Text>
      )}
      {hasSandbox && list.isPending && <Loading what="terminals" rows={3} />}
      {list.isError && <Failed error={list.error} onAgain={() => void list.refetch()} />}
      {shown ? (
        <TerminalView key={shown.id} sessionId={id} terminal={shown} isReadOnly={!mayWrite} />
      ) : (
        (!hasSandbox || list.isSuccess) && <NoTerminal hasSandbox={hasSandbox} />
      )}
    </div>
  );
}

function Verbs({ shown, hasSandbox, open, close }: Terminals) {
  const { act, isActing } = useAct();
  const blocked = talkBlockedBy(useOpenedSession());
  return (
    <Group gap="xs">
      {shown && (
        <Button variant="default" loading={isActing} onClick={() => act(() => close(shown))}>
          End this one
        </Button>
      )}
      <Button
        variant="default"
        disabled={!hasSandbox}
        loading={isActing}
        onClick={() => act(() => open('shell'))}
      >
        Open a shell
      </Button>
      <Button
        variant="default"
        disabled={blocked !== null}
        title={blocked ?? undefined}
        loading={isActing}
        onClick={() => act(() => open('agent'))}
      >
        Talk to the agent here
      </Button>
    </Group>
  );
}

const NoTerminal = ({ hasSandbox }: { hasSandbox: boolean }) =>
  hasSandbox ? (
    <Empty icon="terminal" title="No terminal is open">
      A shell is in the same sandbox as the agent. It goes on when you close this page, and shows
      what it printed meanwhile. An open one keeps the session up.
    </Empty>
  ) : (
    <Empty icon="terminal" title="There is no sandbox now">
      Terminals are in the sandbox of the session. Resume it first.
    </Empty>
  );

/** `Shell 2`, `Agent`; numbered among its kind. */
function nameOf(terminal: TerminalDocument, all: TerminalDocument[]): string {
  const alike = all.filter(({ kind }) => kind === terminal.kind);
  const word = terminal.kind === 'shell' ? 'Shell' : 'Agent';
  const number = alike.length > 1 ? ` ${alike.indexOf(terminal) + 1}` : '';
  return `${word}${number}${terminal.state === 'ended' ? ' (ended)' : ''}`;
}
