import { HangarError } from '@hangar/contracts';
import { prepareAppend, type PreparedEvent, type Validate } from '../append-request.ts';
import { compareCursors, START, type Aggregate, type RecordedEvent } from '../event.ts';
import {
  PAGE_EVENTS_MAX,
  PROBLEMS_MAX,
  type AppendOptions,
  type AppendResult,
  type ChainProblem,
  type EventStore,
} from '../event-store.ts';
import { asItIs, type Upcast } from '../upcast.ts';
import { chainHash, change, type MemoryState, type MemoryTransaction } from './memory-state.ts';

export interface MemoryEventStoreOptions {
  owns: readonly Aggregate[];
  validate: Validate;
  upcast?: Upcast;
  now?(): Date;
  /** Told of each new event, inside the transaction that makes it. */
  onAppended?(event: RecordedEvent, tx: MemoryTransaction | undefined): void;
}

/** The same contract as the Postgres store, over a state in memory; nothing survives it. */
export function createMemoryEventStore(
  state: MemoryState,
  options: MemoryEventStoreOptions,
): EventStore {
  const upcast = options.upcast ?? asItIs;
  const eventsOf = (stream: string): RecordedEvent[] => state.streams.get(stream)?.events ?? [];
  return {
    load: async (stream) => {
      const events = eventsOf(stream).map((event) => upcast(structuredClone(event)));
      return { version: events.length, events };
    },
    loadState: async (stream, fold) => {
      const events = eventsOf(stream).map((event) => upcast(structuredClone(event)));
      const folded = events.reduce((before, event) => fold.evolve(before, event), fold.initial);
      return { version: events.length, state: folded };
    },
    append: async (stream, expected, events, append) => {
      const prepared = prepareAppend(stream, events, append, options);
      return appendInMemory(state, options, stream, expected, prepared.events, append);
    },
    findCommand: async (id, bodyHash) => {
      const known = state.commands.get(id);
      if (!known) return undefined;
      if (known.bodyHash !== bodyHash) return { kind: 'key-reused' };
      return { kind: 'answered', result: known.result };
    },
    readStream: async (stream, fromVersion, limit) => {
      const count = Math.min(limit, PAGE_EVENTS_MAX);
      const page = eventsOf(stream).slice(fromVersion - 1, fromVersion - 1 + count);
      return page.map((event) => upcast(structuredClone(event)));
    },
    feed: async (after, limit) =>
      state.feed
        .filter((event) => compareCursors(event.position, after) > 0)
        .slice(0, Math.min(limit, PAGE_EVENTS_MAX))
        .map((event) => upcast(structuredClone(event))),
    head: async () => state.feed.at(-1)?.position ?? START,
    verify: async (stream) => {
      const streams = stream === undefined ? [...state.streams.keys()] : [stream];
      return streams.flatMap((name) => verifyStream(state, name)).slice(0, PROBLEMS_MAX);
    },
  };
}

function verifyStream(state: MemoryState, name: string): ChainProblem[] {
  const stream = state.streams.get(name);
  const problems: ChainProblem[] = [];
  let previous = '';
  for (const [i, event] of (stream?.events ?? []).entries()) {
    const wanted = chainHash(previous, event);
    previous = stream?.hashes[i] ?? '';
    if (event.version !== i + 1) {
      problems.push({ stream: name, version: event.version, problem: 'missing' });
    } else if (wanted !== previous) {
      problems.push({ stream: name, version: event.version, problem: 'changed' });
    }
  }
  return problems;
}

function appendInMemory(
  state: MemoryState,
  options: MemoryEventStoreOptions,
  stream: string,
  expected: number,
  events: PreparedEvent[],
  append: AppendOptions,
): AppendResult {
  const tx = append.tx as MemoryTransaction | undefined;
  const refused = refusal(state, stream, expected, events, append);
  if (refused) return refused;
  const at = (append.now ?? options.now?.() ?? new Date()).toISOString();
  for (const event of record(state, stream, events, append, at, tx)) {
    options.onAppended?.(event, tx);
  }
  if (append.command) {
    const { id, bodyHash, result } = append.command;
    change(state.commands, id, { bodyHash, result }, tx);
  }
  if (append.inbox) {
    change(state.inbox, inboxKey(append.inbox), append.inbox.version, tx);
  }
  for (const timer of append.timers ?? []) {
    if ('cancel' in timer) change(state.timers, timer.id, undefined, tx);
    else change(state.timers, timer.id, { ...timer, stream, payload: timer.payload ?? {} }, tx);
  }
  for (const effect of append.effects ?? []) {
    if (state.effects.has(effect.key)) continue;
    change(state.effects, effect.key, { ...effect, stream, state: 'ready', attempts: 0 }, tx);
  }
  const ids = events.map((event) => event.id);
  return { kind: 'appended', version: expected + events.length, ids };
}

const inboxKey = (inbox: { consumer: string; stream: string }): string =>
  `${inbox.consumer} ${inbox.stream}`;

/** The answers that change nothing, in the order in which Postgres finds them. */
function refusal(
  state: MemoryState,
  stream: string,
  expected: number,
  events: PreparedEvent[],
  append: AppendOptions,
): AppendResult | undefined {
  const { inbox, command } = append;
  if (inbox && (state.inbox.get(inboxKey(inbox)) ?? 0) >= inbox.version) return { kind: 'handled' };
  const known = command && state.commands.get(command.id);
  if (known && known.bodyHash !== command.bodyHash) return { kind: 'key-reused' };
  if (known) return { kind: 'answered', result: known.result };
  const found = state.streams.get(stream);
  const version = found?.events.length ?? 0;
  if (events.length === 0) return undefined;
  if (version === expected && !found?.isClosed) {
    const stored = new Set(state.feed.map((event) => event.id));
    if (!events.some((event) => stored.has(event.id))) return undefined;
    throw new HangarError('conflict', 'an event with this id is already recorded elsewhere');
  }
  const isThere = events.every((event, i) => found?.events[expected + i]?.id === event.id);
  if (isThere) {
    return {
      kind: 'appended',
      version: expected + events.length,
      ids: events.map((event) => event.id),
    };
  }
  return { kind: found?.isClosed ? 'closed' : 'conflict' };
}

function record(
  state: MemoryState,
  stream: string,
  events: PreparedEvent[],
  append: AppendOptions,
  at: string,
  tx: MemoryTransaction | undefined,
): RecordedEvent[] {
  if (events.length === 0) return [];
  const before = state.streams.get(stream) ?? { events: [], hashes: [], isClosed: false };
  const hashes = [...before.hashes];
  const recorded = events.map((event, i): RecordedEvent => {
    const { id, type, schema, data } = event;
    const version = before.events.length + i + 1;
    const position = { fence: '1', position: String(state.feed.length + i + 1) };
    const aggregate = stream.slice(0, stream.indexOf('/'));
    const meta = structuredClone(append.meta);
    return { stream, aggregate, version, id, type, schema, data, meta, at, position };
  });
  for (const event of recorded) hashes.push(chainHash(hashes.at(-1) ?? '', event));
  const after = {
    events: [...before.events, ...recorded],
    hashes,
    isClosed: append.close ?? false,
  };
  change(state.streams, stream, after, tx);
  const length = state.feed.length;
  tx?.onRollback(() => void state.feed.splice(length));
  state.feed.push(...recorded);
  return recorded;
}
