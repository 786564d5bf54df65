import { createHash } from 'node:crypto';
import { HangarError } from '@hangar/contracts';
import type { RecordedEvent } from '../event.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Transaction } from '../transaction.ts';

/** A stream in memory; `hashes[i]` chains `events[i]` to the ones before it. */
export interface MemoryStream {
  events: RecordedEvent[];
  hashes: string[];
  isClosed: boolean;
}

export interface MemoryTimer {
  id: string;
  dueAt: Date;
  kind: string;
  stream: string;
  payload: JsonObject;
}

export interface MemoryEffect {
  key: string;
  kind: string;
  stream: string;
  payload: JsonObject;
  state: 'ready' | 'done';
  attempts: number;
}

/** Everything that the schema `es` holds. Changes go through `change`, so they can be undone. */
export interface MemoryState {
  streams: Map<string, MemoryStream>;
  feed: RecordedEvent[];
  commands: Map<string, { bodyHash: string; result: Json }>;
  timers: Map<string, MemoryTimer>;
  effects: Map<string, MemoryEffect>;
  inbox: Map<string, number>;
}

export const emptyState = (): MemoryState => ({
  streams: new Map(),
  feed: [],
  commands: new Map(),
  timers: new Map(),
  effects: new Map(),
  inbox: new Map(),
});

/** A transaction of the memory log; only one is open at a time. */
export interface MemoryTransaction extends Transaction {
  onRollback(undo: () => void): void;
}

/** Runs `work` and keeps what it changed if it returns, none of it if it throws. */
export async function inMemoryTransaction<T>(
  work: (tx: MemoryTransaction) => Promise<T>,
): Promise<T> {
  const undo: (() => void)[] = [];
  const committed: (() => void)[] = [];
  const tx: MemoryTransaction = {
    query: () => Promise.reject(new HangarError('internal', 'the memory log has no SQL')),
    onCommit: (callback) => void committed.push(callback),
    onRollback: (step) => void undo.push(step),
  };
  try {
    const result = await work(tx);
    for (const callback of committed) callback();
    return result;
  } catch (error) {
    for (const step of undo.toReversed()) step();
    throw error;
  }
}

/** Sets a key of a map in a way that the transaction can take back. */
export function change<Value>(
  map: Map<string, Value>,
  key: string,
  value: Value | undefined,
  tx: MemoryTransaction | undefined,
): void {
  const before = map.get(key);
  tx?.onRollback(() => {
    if (before === undefined) map.delete(key);
    else map.set(key, before);
  });
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

/** The chain of [L1], over the same fields as in Postgres. */
export function chainHash(previous: string, event: RecordedEvent): string {
  const { stream, version, id, type, schema, at, data, meta } = event;
  const row = [previous, stream, version, id, type, schema, at, data, meta];
  return createHash('sha256').update(JSON.stringify(row)).digest('hex');
}
