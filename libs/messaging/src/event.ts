import { randomBytes } from 'node:crypto';
import { HangarError } from '@hangar/contracts';
import type { JsonObject } from './json.ts';

/** The aggregates of the one log; each has one owner service, which alone appends to it. */
export const AGGREGATES = [
  'session',
  'sandbox',
  'checkpoint',
  'run',
  'terminal',
  'environment',
  'access',
] as const;
export type Aggregate = (typeof AGGREGATES)[number];

/** An event before it is recorded. Give an `id` derived from the cause where there is one. */
export interface NewEvent {
  type: string;
  /** Version of the shape of `data`, 1 when left out. */
  schema?: number;
  data: object;
  /** A UUID; a new time-ordered one when left out. */
  id?: string;
}

/** Who did it, why, and what it belongs to ([L1]). */
export interface EventMeta {
  /** `owner:<id>`, `token:<id>`, `service:<name>`. */
  actor: string;
  /** Id of the event or command that led to this one; null at the start of a chain. */
  cause: string | null;
  /** One id for all that follows from one act of a person. */
  correlation: string;
  traceparent?: string;
}

/** A place in the feed of the whole log. Both parts are decimal numbers in text (64 bits). */
export interface Cursor {
  fence: string;
  position: string;
}

export const START: Cursor = { fence: '0', position: '0' };

/** An event as it stands in the log; versions of a stream are 1, 2, 3, ... without a gap. */
export interface RecordedEvent {
  /** `<aggregate>/<id>`, for example `session/ses-1a2b3c4d`. */
  stream: string;
  aggregate: string;
  version: number;
  id: string;
  type: string;
  schema: number;
  data: JsonObject;
  meta: EventMeta;
  /** When it was recorded, ISO 8601 in UTC, to the millisecond. */
  at: string;
  position: Cursor;
}

/** What a state is folded from: who and when is audit, what matters to a rule is in the data. */
export type FoldEvent = Pick<
  RecordedEvent,
  'stream' | 'aggregate' | 'version' | 'type' | 'schema' | 'data'
>;

const PART = /^[A-Za-z0-9_-]{1,100}$/;

/** Name of the stream of one aggregate: ids carry no dots, so they also fit into subjects. */
export function streamName(aggregate: Aggregate, id: string): string {
  if (!PART.test(id)) {
    throw new HangarError('invalid', `"${id}" cannot be the id of a ${aggregate}`, {
      hint: 'Ids are up to 100 letters, digits, hyphens and underscores.',
    });
  }
  return `${aggregate}/${id}`;
}

export function parseStream(stream: string): { aggregate: Aggregate; id: string } {
  const slash = stream.indexOf('/');
  const name = stream.slice(0, slash);
  const aggregate = AGGREGATES.find((candidate) => candidate === name);
  const id = stream.slice(slash + 1);
  if (aggregate === undefined || !PART.test(id)) {
    throw new HangarError('internal', `"${stream}" is not the name of a stream`, {
      hint: 'Streams are named <aggregate>/<id>.',
    });
  }
  return { aggregate, id };
}

/** Event types are part of subjects, so they are plain words. */
export function checkEventType(type: string): void {
  if (!PART.test(type)) throw new HangarError('internal', `"${type}" is not an event type`);
}

/** A UUID of version 7: its first 48 bits are the time in milliseconds, so index pages stay hot. */
export function newEventId(nowMs: number = Date.now()): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  const cuts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${cuts.join('-')}-${hex.slice(20)}`;
}

/** Negative, zero or positive, as `a` stands before, at or behind `b` in the feed. */
export function compareCursors(a: Cursor, b: Cursor): number {
  const fence = BigInt(a.fence) - BigInt(b.fence);
  const difference = fence === 0n ? BigInt(a.position) - BigInt(b.position) : fence;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}
