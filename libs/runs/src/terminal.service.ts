import type { TerminalEvent } from '@hangar/contracts';
import { createAggregate, type AggregateHandler, type EventStore } from '@hangar/messaging';
import type pg from 'pg';
import { decideTerminal, type TerminalCommand } from './terminal.decider.ts';
import { evolveTerminal, initialTerminal, type TerminalState } from './terminal.ts';

export type Terminals = AggregateHandler<TerminalState, TerminalCommand>;

export const TALK = 'terminal.talk';

export function createTerminals(pool: pg.Pool, store: EventStore): Terminals {
  return createAggregate<TerminalState, TerminalEvent, TerminalCommand>({
    aggregate: 'terminal',
    pool,
    store,
    foldVersion: 1,
    initial: initialTerminal,
    evolve: evolveTerminal,
    decide: decideTerminal,
    effects: (event) => {
      if (event.type !== 'TerminalRequested') return [];
      const { terminal_id, session_id } = event.data;
      const payload = { terminal_id, correlation: session_id };
      return [{ key: `terminal/${terminal_id}`, kind: TALK, payload }];
    },
  });
}
