import type { Cursor, EventMeta, FoldEvent, NewEvent, RecordedEvent } from './event.ts';
import type { Json, JsonObject } from './json.ts';
import type { Transaction } from './transaction.ts';

/**
 * How a state is made from events. `version` goes up whenever `evolve` or the state's shape
 * changes: snapshots of another version are ignored. The state must survive JSON.
 */
export interface Fold<State> {
  version: number;
  initial: State;
  evolve(state: State, event: FoldEvent): State;
}

/** Arms a timer (`dueAt` in the future or past), or cancels it. One id is one timer. */
export type TimerChange =
  | { id: string; dueAt: Date; kind: string; payload?: JsonObject }
  | { id: string; cancel: true };

/** Work outside the database; `key` is derived from the event that asks for it. */
export interface NewEffect {
  key: string;
  kind: string;
  payload: JsonObject;
}

/** A command's idempotency ([M2]): key, hash of its body, and the answer to give again. */
export interface CommandRecord {
  id: string;
  bodyHash: string;
  result: Json;
}

export interface AppendOptions {
  meta: EventMeta;
  /** Recorded as the time of the events; the database's clock when left out. */
  now?: Date;
  /** Commits with this transaction, instead of one of its own. */
  tx?: Transaction;
  /** Marks version `version` of `stream` as handled by `consumer`, or refuses if it was. */
  inbox?: { consumer: string; stream: string; version: number };
  timers?: TimerChange[];
  effects?: NewEffect[];
  command?: CommandRecord;
  /** No event can follow these. */
  close?: boolean;
}

export type AppendResult =
  /** Also the answer to a repeated append of the same event ids at the same place. */
  | { kind: 'appended'; version: number; ids: string[] }
  /** The stream is not at the expected version: load, decide and append again. */
  | { kind: 'conflict' }
  | { kind: 'closed' }
  /** The inbox says that this was handled before; nothing was appended. */
  | { kind: 'handled' }
  /** The command was answered before, with this; nothing was appended. */
  | { kind: 'answered'; result: Json }
  /** The command's key was used with another body; nothing was appended. */
  | { kind: 'key-reused' };

/** Something that is wrong with a stream's hash chain ([L1]). */
export interface ChainProblem {
  stream: string;
  version: number;
  problem: 'changed' | 'missing' | 'added';
}

/**
 * The log, seen by the owner of some aggregates. It reads every stream and appends only to
 * its own; others are refused with `forbidden`.
 */
export interface EventStore {
  /** All events of a stream; version 0 and none when it does not exist. */
  load(stream: string): Promise<{ version: number; events: RecordedEvent[] }>;
  /** The state from the newest snapshot and the events after it. */
  loadState<State>(
    stream: string,
    fold: Fold<State>,
    tx?: Transaction,
  ): Promise<{ version: number; state: State }>;
  /** All or nothing. Throws `invalid` when an event breaks its contract. */
  append(
    stream: string,
    expected: number,
    events: NewEvent[],
    options: AppendOptions,
  ): Promise<AppendResult>;
  /** The stored answer of a command; undefined when the key is new. */
  findCommand(
    id: string,
    bodyHash: string,
    tx?: Transaction,
  ): Promise<{ kind: 'answered'; result: Json } | { kind: 'key-reused' } | undefined>;
  /** Events from `fromVersion` on, at most `limit` (1,000 at most). */
  readStream(
    stream: string,
    fromVersion: number,
    limit: number,
    tx?: Transaction,
  ): Promise<RecordedEvent[]>;
  /**
   * Events of all streams behind `after`, in an order that never changes and never gets a new
   * event before a place once read; within a stream it is the order of versions.
   */
  feed(after: Cursor, limit: number): Promise<RecordedEvent[]>;
  /** The end of the feed at this moment. */
  head(): Promise<Cursor>;
  /** The first hundred problems of one stream or of the whole log; none means unharmed. */
  verify(stream?: string): Promise<ChainProblem[]>;
}

/** Events read in one page, at most. */
export const PAGE_EVENTS_MAX = 1000;
/** Problems that `verify` reports, at most. */
export const PROBLEMS_MAX = 100;
/** A snapshot is written when a load had to fold this many events. */
export const SNAPSHOT_TAIL_EVENTS = 200;
