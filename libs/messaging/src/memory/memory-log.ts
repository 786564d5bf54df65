import { HangarError } from '@hangar/contracts';
import { parseStream, type Aggregate, type RecordedEvent } from '../event.ts';
import type { EventStore } from '../event-store.ts';
import { checkFilter } from '../jetstream/subjects.ts';
import type { Transaction } from '../transaction.ts';
import { createMemoryEventStore, type MemoryEventStoreOptions } from './event-store.ts';
import {
  change,
  emptyState,
  inMemoryTransaction,
  type MemoryEffect,
  type MemoryState,
  type MemoryTimer,
} from './memory-state.ts';

/** A message under way to a consumer. */
export interface Delivery {
  consumer: string;
  stream: string;
  version: number;
}

export interface MemoryConsumer {
  name: string;
  filter: string;
  handle(event: RecordedEvent, tx: Transaction): Promise<void>;
}

/** What a simulation may do to a delivery. */
export interface DeliveryFault {
  /** It stays under way and comes again. */
  isDuplicated?: boolean;
  /** The process dies after the handler ran and before the commit. */
  isCrashed?: boolean;
}

/**
 * Log, bus, timers and effects in one thread, for simulations: nothing happens by itself, the
 * caller picks what is next, so a seed decides everything.
 */
export interface MemoryLog {
  store(options: Omit<MemoryEventStoreOptions, 'onAppended'>): EventStore;
  addConsumer(consumer: MemoryConsumer): void;
  /** Messages under way, oldest first; any of them may be delivered next. */
  underWay(): readonly Delivery[];
  deliver(delivery: Delivery, fault?: DeliveryFault): Promise<void>;
  timers(): MemoryTimer[];
  /** Removes the timer and runs `handle` in one transaction. */
  fire(id: string, handle: (timer: MemoryTimer, tx: Transaction) => Promise<void>): Promise<void>;
  effects(state?: MemoryEffect['state']): MemoryEffect[];
  /** Runs one effect outside any transaction; an error leaves it ready. */
  execute(key: string, work: (effect: MemoryEffect) => Promise<void>): Promise<void>;
  /** Delivers everything, oldest first, until nothing is under way. Returns the steps. */
  settle(): Promise<number>;
}

/** More steps than that are taken for a loop of messages. */
const SETTLE_STEPS_MAX = 100_000;

/** Thrown inside a transaction to make it as if the process had died there. */
const CRASH = new HangarError('unavailable', 'crashed on purpose');

export function createMemoryLog(): MemoryLog {
  const state = emptyState();
  const consumers = new Map<string, MemoryConsumer>();
  const messages: Delivery[] = [];

  const send = (event: RecordedEvent): void => {
    for (const consumer of consumers.values()) {
      if (!matches(consumer.filter, event.stream)) continue;
      messages.push({ consumer: consumer.name, stream: event.stream, version: event.version });
    }
  };

  const deliver: MemoryLog['deliver'] = async (delivery, fault = {}) => {
    const consumer = consumers.get(delivery.consumer);
    if (!consumer) throw new HangarError('internal', `no consumer ${delivery.consumer}`);
    try {
      await inMemoryTransaction(async (tx) => {
        await applyMissing(state, consumer, delivery, tx);
        if (fault.isCrashed) throw CRASH;
      });
    } catch (error) {
      if (error !== CRASH) throw error;
      return;
    }
    const index = messages.indexOf(delivery);
    if (!fault.isDuplicated && index >= 0) messages.splice(index, 1);
  };

  return {
    store: (options) =>
      createMemoryEventStore(state, {
        ...options,
        onAppended: (event, tx) => {
          if (tx) tx.onCommit(() => send(event));
          else send(event);
        },
      }),
    addConsumer: (consumer) => {
      checkFilter(consumer.filter);
      consumers.set(consumer.name, consumer);
      for (const event of state.feed) {
        if (!matches(consumer.filter, event.stream)) continue;
        messages.push({ consumer: consumer.name, stream: event.stream, version: event.version });
      }
    },
    underWay: () => messages,
    deliver,
    timers: () => [...state.timers.values()],
    fire: (id, handle) =>
      inMemoryTransaction(async (tx) => {
        const timer = state.timers.get(id);
        if (!timer) return;
        change(state.timers, id, undefined, tx);
        await handle(timer, tx);
      }),
    effects: (wanted) =>
      [...state.effects.values()].filter((effect) => !wanted || effect.state === wanted),
    execute: async (key, work) => {
      const effect = state.effects.get(key);
      if (effect?.state !== 'ready') return;
      const tried = { ...effect, attempts: effect.attempts + 1 };
      state.effects.set(key, tried);
      await work(tried);
      state.effects.set(key, { ...tried, state: 'done' });
    },
    settle: async () => {
      for (let steps = 0; steps < SETTLE_STEPS_MAX; steps += 1) {
        const [next] = messages;
        if (!next) return steps;
        await deliver(next);
      }
      throw new HangarError('internal', `messages are still under way after ${SETTLE_STEPS_MAX}`);
    },
  };
}

function matches(filter: string, stream: string): boolean {
  const [, , aggregate, id] = filter.split('.');
  const of: { aggregate: Aggregate; id: string } = parseStream(stream);
  if (aggregate === '>') return true;
  return aggregate === of.aggregate && (id === '>' || id === of.id);
}

/** As in the inbox of Postgres: what is missing, in order, and never anything twice. */
async function applyMissing(
  state: MemoryState,
  consumer: MemoryConsumer,
  delivery: Delivery,
  tx: Parameters<typeof change>[3],
): Promise<void> {
  const key = `${consumer.name} ${delivery.stream}`;
  const applied = state.inbox.get(key) ?? 0;
  if (applied >= delivery.version || !tx) return;
  change(state.inbox, key, delivery.version, tx);
  const events = state.streams.get(delivery.stream)?.events.slice(applied, delivery.version) ?? [];
  for (const event of events) await consumer.handle(structuredClone(event), tx);
}
