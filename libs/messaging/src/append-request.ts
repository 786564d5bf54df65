import { HangarError } from '@hangar/contracts';
import { checkEventType, newEventId, parseStream, type Aggregate } from './event.ts';
import type { NewEvent } from './event.ts';
import type { JsonObject } from './json.ts';
import type { AppendOptions } from './event-store.ts';

/** Throws `invalid` when `data` does not keep the contract of events of this type. */
export type Validate = (type: string, data: object) => void;

/** Events in one append, at most: a decision is small, and one call is one transaction. */
export const APPEND_EVENTS_MAX = 256;
/** Size of an event's data as JSON, at most; the bus carries 1 MiB per message. */
export const EVENT_BYTES_MAX = 512 * 1024;

/** A new event, checked, with its id and its data as the text that will be stored. */
export interface PreparedEvent {
  id: string;
  type: string;
  schema: number;
  text: string;
  data: JsonObject;
}

/** What every store checks before it appends. */
export function prepareAppend(
  stream: string,
  events: NewEvent[],
  options: AppendOptions,
  rules: { owns: readonly Aggregate[]; validate: Validate },
): { aggregate: Aggregate; events: PreparedEvent[] } {
  const { aggregate } = parseStream(stream);
  if (!rules.owns.includes(aggregate)) {
    throw new HangarError('forbidden', `${stream} belongs to the service of ${aggregate}`, {
      hint: 'Send a command to its owner instead.',
    });
  }
  if (events.length > APPEND_EVENTS_MAX) {
    throw new HangarError('invalid', `${events.length} events in one append`, {
      hint: `At most ${APPEND_EVENTS_MAX} are recorded at once.`,
    });
  }
  if (options.close && events.length === 0) {
    throw new HangarError('internal', 'only an event can close a stream');
  }
  return { aggregate, events: events.map((event) => prepareEvent(event, rules.validate)) };
}

function prepareEvent(event: NewEvent, validate: Validate): PreparedEvent {
  checkEventType(event.type);
  validate(event.type, event.data);
  const text = storable(event.data);
  if (Buffer.byteLength(text) > EVENT_BYTES_MAX) {
    throw new HangarError('invalid', `${event.type} is larger than ${EVENT_BYTES_MAX} bytes`, {
      hint: 'Put large content into a blob and its key into the event.',
    });
  }
  return {
    id: event.id ?? newEventId(),
    type: event.type,
    schema: event.schema ?? 1,
    text,
    data: JSON.parse(text) as JsonObject,
  };
}

/** As JSON writes a zero byte and half of a surrogate pair; also, rarely, text that only looks so. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;

/**
 * What an agent prints may hold a zero byte or half a character. JSON carries both; text and jsonb
 * columns of read models refuse them, and one such event would stop a read model for good. They
 * are replaced where everything is recorded, so no reader has to know.
 */
export function storable(data: object): string {
  const text = JSON.stringify(data);
  if (!UNSTORABLE.test(text)) return text;
  return JSON.stringify(data, (_name, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : value,
  );
}
