import { HangarError } from '@hangar/contracts';
import { headers, type MsgHdrs } from '@nats-io/nats-core';
import type { Cursor, EventMeta, RecordedEvent } from '../event.ts';
import type { JsonObject } from '../json.ts';

/**
 * An event on the bus: CloudEvents 1.0 in binary mode, the attributes in headers and the body
 * exactly `data`. `Hangar-Pos` is the place in the feed, from which the relay goes on.
 */
export const HEADER = {
  id: 'ce-id',
  source: 'ce-source',
  type: 'ce-type',
  subject: 'ce-subject',
  time: 'ce-time',
  version: 'Hangar-Version',
  schema: 'Hangar-Schema',
  position: 'Hangar-Pos',
  actor: 'Hangar-Actor',
  cause: 'Hangar-Cause',
  correlation: 'Hangar-Correlation',
  trace: 'traceparent',
} as const;

export function encodeEvent(event: RecordedEvent): { headers: MsgHdrs; body: string } {
  const set = headers();
  set.set('ce-specversion', '1.0');
  set.set(HEADER.id, event.id);
  set.set(HEADER.source, `/hangar/${event.aggregate}`);
  set.set(HEADER.type, `hangar.${event.aggregate}.v${event.schema}.${event.type}`);
  set.set(HEADER.subject, event.stream);
  set.set(HEADER.time, event.at);
  set.set('content-type', 'application/json');
  set.set(HEADER.version, String(event.version));
  set.set(HEADER.schema, String(event.schema));
  set.set(HEADER.position, encodePosition(event.position));
  set.set(HEADER.actor, encodeURIComponent(event.meta.actor));
  set.set(HEADER.correlation, encodeURIComponent(event.meta.correlation));
  if (event.meta.cause !== null) set.set(HEADER.cause, encodeURIComponent(event.meta.cause));
  if (event.meta.traceparent) set.set(HEADER.trace, event.meta.traceparent);
  return { headers: set, body: JSON.stringify(event.data) };
}

export const encodePosition = (position: Cursor): string =>
  `${position.fence}:${position.position}`;

export function decodePosition(text: string): Cursor {
  const match = /^(\d+):(\d+)$/.exec(text);
  if (!match?.[1] || !match[2]) throw malformed(`position "${text}"`);
  return { fence: match[1], position: match[2] };
}

export function decodeEvent(message: {
  headers?: MsgHdrs | undefined;
  string(): string;
}): RecordedEvent {
  const get = (name: string): string => {
    const value = message.headers?.get(name);
    if (!value) throw malformed(`no header ${name}`);
    return value;
  };
  const stream = get(HEADER.subject);
  const type = get(HEADER.type);
  return {
    stream,
    aggregate: stream.slice(0, stream.indexOf('/')),
    version: Number(get(HEADER.version)),
    id: get(HEADER.id),
    type: type.slice(type.lastIndexOf('.') + 1),
    schema: Number(get(HEADER.schema)),
    data: JSON.parse(message.string()) as JsonObject,
    meta: decodeMeta(get, message.headers),
    at: get(HEADER.time),
    position: decodePosition(get(HEADER.position)),
  };
}

function decodeMeta(get: (name: string) => string, set: MsgHdrs | undefined): EventMeta {
  const cause = set?.get(HEADER.cause);
  const traceparent = set?.get(HEADER.trace);
  return {
    actor: decodeURIComponent(get(HEADER.actor)),
    cause: cause ? decodeURIComponent(cause) : null,
    correlation: decodeURIComponent(get(HEADER.correlation)),
    ...(traceparent ? { traceparent } : {}),
  };
}

const malformed = (what: string): HangarError =>
  new HangarError('invalid', `the message is not an event of hangar: ${what}`);
