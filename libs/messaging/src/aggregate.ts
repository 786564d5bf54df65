import type pg from 'pg';
import { handleCommand } from './command-handler.ts';
import { streamName, type Aggregate, type EventMeta, type RecordedEvent } from './event.ts';
import type { EventStore, Fold, NewEffect, TimerChange } from './event-store.ts';
import type { JsonObject } from './json.ts';
import { inTransaction } from './postgres/transaction.ts';
import type { Transaction } from './transaction.ts';

interface Named {
  type: string;
  data: object;
}

export interface AggregateOptions<State, Event extends Named, Command> {
  aggregate: Aggregate;
  pool: pg.Pool;
  store: EventStore;
  /** Goes up whenever `evolve` or the state's shape changes: snapshots are then made anew. */
  foldVersion: number;
  initial: State;
  evolve(state: State, event: Event): State;
  decide(state: State, command: Command): Event[];
  /** Outside work that an event asks for; committed with it. */
  effects?(event: Event): NewEffect[];
  /** Timers to arm and to cancel, as the difference of two states. */
  timers?(id: string, before: State, after: State): TimerChange[];
  /** More that commits with the events, for what a decider cannot see (a name taken by others). */
  alongside?(tx: Transaction, id: string, before: State, events: Event[]): Promise<void>;
}

export interface Executed {
  version: number;
  /** Names of the events that were recorded, in order; none when the command was quiet. */
  events: string[];
}

export interface AggregateHandler<State, Command> {
  /** Load, decide, append; again on a conflict. Refusals are thrown as they were decided. */
  execute(
    id: string,
    command: Command,
    options: { meta: EventMeta; tx?: Transaction },
  ): Promise<Executed>;
  load(id: string, tx?: Transaction): Promise<{ version: number; state: State }>;
}

/** Spreads competing writers; a conflict is decided again after at most this many milliseconds. */
const CONFLICT_PAUSE_MS = 20;

/** One aggregate as its service uses it: pure rules in, everything that commits together out. */
export function createAggregate<State, Event extends Named, Command>(
  options: AggregateOptions<State, Event, Command>,
): AggregateHandler<State, Command> {
  const { aggregate, store, pool } = options;
  const fold: Fold<State> = {
    version: options.foldVersion,
    initial: options.initial,
    evolve: (state, event) => options.evolve(state, event as unknown as Event),
  };
  const execute = async (
    id: string,
    command: Command,
    meta: EventMeta,
    tx: Transaction | undefined,
  ): Promise<Executed> => {
    let decided: { before: State; events: Event[] } | undefined;
    const handled = await handleCommand(store, {
      stream: streamName(aggregate, id),
      fold,
      meta,
      ...(tx ? { tx } : {}),
      pause: () => new Promise((resolve) => setTimeout(resolve, Math.random() * CONFLICT_PAUSE_MS)),
      decide: (before) => {
        const events = options.decide(before, command);
        decided = { before, events };
        const after = events.reduce((state, event) => options.evolve(state, event), before);
        return {
          events,
          effects: events.flatMap((event) => options.effects?.(event) ?? []),
          timers: options.timers?.(id, before, after) ?? [],
        };
      },
    });
    if (tx && decided && handled.isRecorded)
      await options.alongside?.(tx, id, decided.before, decided.events);
    return {
      version: handled.version,
      events: handled.isRecorded ? (decided?.events.map((event) => event.type) ?? []) : [],
    };
  };
  return {
    execute: (id, command, { meta, tx }) =>
      tx || !options.alongside
        ? execute(id, command, meta, tx)
        : inTransaction(pool, (own) => execute(id, command, meta, own)),
    load: (id, tx) => store.loadState(streamName(aggregate, id), fold, tx),
  };
}

/** What followed from an event says so: same correlation, the event as its cause ([L1]). */
export const causedBy = (event: RecordedEvent, service: string): EventMeta => ({
  actor: `service:${service}`,
  cause: event.id,
  correlation: event.meta.correlation,
  ...(event.meta.traceparent ? { traceparent: event.meta.traceparent } : {}),
});

/** Effects carry where they come from, so that their outcome belongs to the same chain. */
export const metaOfEffect = (payload: JsonObject, service: string): EventMeta => ({
  actor: `service:${service}`,
  cause: null,
  correlation: typeof payload['correlation'] === 'string' ? payload['correlation'] : service,
});
