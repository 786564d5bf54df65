import { HangarError, type EventDocument } from '@hangar/contracts';
import type { Cursor, EventStore, RecordedEvent } from '@hangar/messaging';
import { eventDocument, type EventOwners } from './event.document.ts';

/** One server-sent event; without a cursor it is not repeated to whoever comes back. */
export interface LiveEvent {
  cursor: string | null;
  text: string;
}

/** One read of a stream of events: those to show, and where the next read begins. */
export interface EventPage {
  events: LiveEvent[];
  /** The id of the place reached, also when nothing there was for this reader. */
  reached: string;
  /** Whether there may be more at once. */
  more: boolean;
}

/** A place to go on reading from; what `Last-Event-ID` says. */
export interface EventSource {
  read(): Promise<EventPage>;
}

/** Events read at once; a client that is slow holds no more than this in memory. */
export const EVENTS_READ_MAX = 100;

/** Events of one session, by the versions of its stream: without a gap by themselves. */
export function sessionEvents(
  store: Pick<EventStore, 'readStream'>,
  session: { id: string; owner: string },
  after: number,
): EventSource {
  let version = after;
  return {
    read: async () => {
      const page = await store.readStream(`session/${session.id}`, version + 1, EVENTS_READ_MAX);
      version += page.length;
      return {
        events: page.map((event) =>
          liveEvent(eventDocument(event, session.owner, String(event.version))),
        ),
        reached: String(version),
        more: page.length === EVENTS_READ_MAX,
      };
    },
  };
}

/** Everything of one owner, in the order of the feed. */
export function ownerEvents(
  store: Pick<EventStore, 'feed'>,
  owners: EventOwners,
  owner: string,
  after: Cursor,
): EventSource {
  let cursor = after;
  return {
    read: async () => {
      const page = await store.feed(cursor, EVENTS_READ_MAX);
      const own: LiveEvent[] = [];
      for (const event of page) {
        if ((await owners.ownerOf(event)) === owner)
          own.push(liveEvent(feedDocument(event, owner)));
      }
      cursor = page.at(-1)?.position ?? cursor;
      return { events: own, reached: encodeFeed(cursor), more: page.length === EVENTS_READ_MAX };
    },
  };
}

/** JSON has no line breaks of its own, so an event is one line of data. */
const liveEvent = (event: EventDocument): LiveEvent => ({
  cursor: event.cursor,
  text: `id: ${event.cursor}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
});

const feedDocument = (event: RecordedEvent, owner: string): EventDocument =>
  eventDocument(event, owner, encodeFeed(event.position));

const ID_HINT =
  'Use the id of the last event you got from it, 0 for the beginning, or none for now.';

export const encodeFeed = ({ fence, position }: Cursor): string => `${fence}-${position}`;

/** `0` is the beginning. Throws `invalid` for what is no id of this stream. */
export function decodeFeed(text: string): Cursor {
  if (text === '0') return { fence: '0', position: '0' };
  const match = /^(\d{1,20})-(\d{1,19})$/.exec(text);
  if (match?.[1] && match[2]) return { fence: match[1], position: match[2] };
  throw new HangarError('invalid', 'The Last-Event-ID is not one of this stream.', {
    hint: ID_HINT,
  });
}

export function decodeVersion(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new HangarError('invalid', 'The Last-Event-ID is not a version of this session.', {
    hint: ID_HINT,
  });
}
