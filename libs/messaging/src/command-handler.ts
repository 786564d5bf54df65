import { createHash } from 'node:crypto';
import { HangarError } from '@hangar/contracts';
import type { NewEvent } from './event.ts';
import type { AppendOptions, EventStore, Fold, NewEffect, TimerChange } from './event-store.ts';
import type { Json } from './json.ts';
import type { Transaction } from './transaction.ts';

/** What a decider decided; no events means: accepted, nothing to record. */
export interface Decision {
  events: NewEvent[];
  timers?: TimerChange[];
  effects?: NewEffect[];
  close?: boolean;
  /** Answer to the sender. */
  result?: Json;
}

export interface HandleCommandOptions<State> {
  stream: string;
  fold: Fold<State>;
  /** Pure: the state and its version in, the decision out; a refusal is thrown. */
  decide(state: State, version: number): Decision;
  meta: AppendOptions['meta'];
  now?: Date;
  tx?: Transaction;
  inbox?: AppendOptions['inbox'];
  /** Idempotency-Key and hash of the body ([M2]): the first answer is given again. */
  command?: { id: string; bodyHash: string };
  /** Tries after the first, on a version conflict. */
  retriesMax?: number;
  /** Waits before try `retry`; the composition root passes one with jitter. */
  pause?(retry: number): Promise<void>;
}

export interface CommandOutcome {
  version: number;
  result: Json;
  /** False when nothing new was recorded, now or because the command was answered before. */
  isRecorded: boolean;
}

const RETRIES_MAX = 5;

/** Key order does not matter: the same command is the same text. */
export function hashBody(body: Json): string {
  return createHash('sha256').update(canonical(body)).digest('hex');
}

function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item)).join()}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`).join()}}`;
}

/**
 * Load, decide, append; on a conflict the same again with the newer state. Throws `conflict`
 * when the stream is closed, the key was used with another body, or others were always faster.
 */
export async function handleCommand<State>(
  store: EventStore,
  options: HandleCommandOptions<State>,
): Promise<CommandOutcome> {
  const { command, tx, retriesMax = RETRIES_MAX } = options;
  for (let retry = 0; retry <= retriesMax; retry += 1) {
    if (retry > 0) await options.pause?.(retry);
    const known = command && (await store.findCommand(command.id, command.bodyHash, tx));
    if (known?.kind === 'key-reused') throw keyReused();
    const loaded = await store.loadState(options.stream, options.fold, tx);
    const { version } = loaded;
    if (known) return { version, result: known.result, isRecorded: false };
    const outcome = await appendDecision(store, options, loaded).catch((error: unknown) =>
      answeredMeanwhile(store, options, version, error),
    );
    if (outcome) return outcome;
  }
  throw new HangarError('conflict', `${options.stream} was changed by others again and again`, {
    hint: 'Nothing was changed; try again.',
  });
}

/**
 * The same command in parallel: its twin may have been recorded between the look at the key and
 * the load, and what the decider refuses is then only the repetition.
 */
async function answeredMeanwhile<State>(
  store: EventStore,
  options: HandleCommandOptions<State>,
  version: number,
  error: unknown,
): Promise<CommandOutcome> {
  const { command, tx } = options;
  if (!(error instanceof HangarError) || !command) throw error;
  const known = await store.findCommand(command.id, command.bodyHash, tx);
  if (known?.kind !== 'answered') throw error;
  return { version, result: known.result, isRecorded: false };
}

/** Undefined on a version conflict. */
async function appendDecision<State>(
  store: EventStore,
  options: HandleCommandOptions<State>,
  loaded: { state: State; version: number },
): Promise<CommandOutcome | undefined> {
  const { command, stream } = options;
  const { version } = loaded;
  const decision = options.decide(loaded.state, version);
  const result = decision.result ?? null;
  if (isNothing(decision) && !command && !options.inbox) {
    return { version, result, isRecorded: false };
  }
  const appended = await store.append(stream, version, decision.events, {
    meta: options.meta,
    ...(options.now ? { now: options.now } : {}),
    ...(options.tx ? { tx: options.tx } : {}),
    ...(options.inbox ? { inbox: options.inbox } : {}),
    ...(decision.timers ? { timers: decision.timers } : {}),
    ...(decision.effects ? { effects: decision.effects } : {}),
    ...(decision.close ? { close: true } : {}),
    ...(command ? { command: { ...command, result } } : {}),
  });
  switch (appended.kind) {
    case 'appended':
      return { version: appended.version, result, isRecorded: decision.events.length > 0 };
    case 'answered':
      return { version, result: appended.result, isRecorded: false };
    case 'handled':
      return { version, result: null, isRecorded: false };
    case 'closed':
      throw new HangarError('conflict', `${stream} is closed`);
    case 'key-reused':
      throw keyReused();
    case 'conflict':
      return undefined;
  }
}

const isNothing = (decision: Decision): boolean =>
  decision.events.length === 0 && !decision.timers?.length && !decision.effects?.length;

const keyReused = (): HangarError =>
  new HangarError('conflict', 'this Idempotency-Key was used for another request', {
    hint: 'Use a new key for a new request.',
  });
