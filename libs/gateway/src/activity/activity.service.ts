import {
  HangarError,
  PAGE_SIZE_DEFAULT,
  type ActivityItem,
  type ActivityQuery,
  type DecisionDocument,
  type DecisionsQuery,
  type Page,
} from '@hangar/contracts';
import {
  activitySubject,
  type ActivityEntry,
  type ActivityLog,
  type ActivityPlace,
} from '@hangar/messaging';
import type { NatsConnection } from '@nats-io/nats-core';
import type { Response } from 'express';
import type { Pool } from 'pg';
import type { Caller } from '../auth/caller.ts';
import type { EventSource, LiveEvent } from '../live/event-source.ts';
import type { LiveService } from '../live/live.service.ts';
import { Signal } from '../live/signal.ts';
import type { SessionReader } from '../sessions/session.reader.ts';
import { decodeCursor, encodeCursor } from '../storage/cursor.ts';

export interface ActivityParts {
  activity: ActivityLog;
  pool: Pool;
  nats: NatsConnection;
  reader: SessionReader;
  live: LiveService;
}

/** Items read at once for one stream. */
const ITEMS_READ_MAX = 100;
/** Text that is being written and waits for one slow client; more is dropped, for the message follows. */
const DELTA_CHARACTERS_MAX = 64 * 1024;

/** Of runs in the order of their turns, from the first one's version on; of each a page at most. */
const DECISIONS = `select d.version::int as version, d.data
  from unnest($1::text[]) with ordinality as run (stream, nth),
    lateral (
      select version, data from es.event
      where stream_id = run.stream and type = 'RunToolDecided'
        and version > case when run.nth = 1 then $2::bigint else 0 end
      order by version limit $3
    ) d
  order by run.nth, d.version limit $3`;
interface DecisionRow {
  version: number;
  data: Omit<DecisionDocument, 'cursor'>;
}

/** What agents did, and what they were allowed to do. */
export class ActivityService {
  readonly #parts: ActivityParts;

  constructor(parts: ActivityParts) {
    this.#parts = parts;
  }

  async list(caller: Caller, ref: string, query: ActivityQuery): Promise<Page<ActivityItem>> {
    const { activity, reader } = this.#parts;
    const { id } = await reader.find(caller.owner, ref);
    const size = query.limit ?? PAGE_SIZE_DEFAULT;
    const found = await activity.read(id, decodePlace(query.after ?? '0'), size + 1);
    const items = found.slice(0, size).map(itemOf);
    return { items, next_cursor: found.length > size ? (items.at(-1)?.cursor ?? null) : null };
  }

  /** The cursor of its newest item: what `after` takes to hear of what comes next. */
  async head(caller: Caller, ref: string): Promise<string> {
    const { activity, reader } = this.#parts;
    const { id } = await reader.find(caller.owner, ref);
    return encodePlace(await activity.head(id));
  }

  /** From now on, or after the item that `lastId` names. */
  async follow(
    caller: Caller,
    ref: string,
    lastId: string | undefined,
    response: Response,
  ): Promise<void> {
    const { activity, nats, reader, live } = this.#parts;
    const { id } = await reader.find(caller.owner, ref);
    const after = lastId === undefined ? await activity.head(id) : decodePlace(lastId);
    const deltas = new DeltaInbox();
    const signal = new Signal((announce) => {
      const subscription = nats.subscribe(activitySubject(id), {
        callback: (_error, message) => {
          deltas.take(message.string());
          announce();
        },
      });
      return () => void (nats.isClosed() || subscription.unsubscribe());
    });
    try {
      await live.serve(caller, activityOf(activity, id, after, deltas), signal, response);
    } finally {
      signal.close();
    }
  }

  async decisions(
    caller: Caller,
    ref: string,
    query: DecisionsQuery,
  ): Promise<Page<DecisionDocument>> {
    const { pool, reader } = this.#parts;
    const { id } = await reader.find(caller.owner, ref);
    const turns = await reader.turns(id);
    const size = query.limit ?? PAGE_SIZE_DEFAULT;
    const [turn = 0, version = 0] = query.cursor
      ? decodeCursor(query.cursor, 2).map(Number)
      : [0, 0];
    const streams = turns
      .filter(({ number }) => number >= turn && (!query.turn || number === query.turn))
      .toSorted((a, b) => a.number - b.number)
      .map(({ run_id }) => `run/${run_id}`);
    const from = turns.some(
      ({ number, run_id }) => number === turn && streams[0] === `run/${run_id}`,
    )
      ? version
      : 0;
    const { rows } = await pool.query<DecisionRow>(DECISIONS, [streams, from, size + 1]);
    const items = rows.map(decisionOf);
    const page = items.slice(0, size);
    return { items: page, next_cursor: items.length > size ? (page.at(-1)?.cursor ?? null) : null };
  }
}

const decisionOf = ({ version, data }: DecisionRow): DecisionDocument => {
  const { turn, call_id, tool, input, verdict, reason, decided_by, decided_at } = data;
  const cursor = encodeCursor(String(turn), String(version));
  return { cursor, turn, call_id, tool, input, verdict, reason, decided_by, decided_at };
};

/** Text that is being written, between two looks. */
class DeltaInbox {
  #waiting: { turn: number; delta: string }[] = [];
  #characters = 0;

  take(text: string): void {
    const live = readLive(text);
    if (!live || this.#characters > DELTA_CHARACTERS_MAX) return;
    this.#characters += live.delta.length;
    this.#waiting.push(live);
  }

  events(): LiveEvent[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#characters = 0;
    return waiting.map((live) => ({
      cursor: null,
      text: `event: delta\ndata: ${JSON.stringify(live)}\n\n`,
    }));
  }
}

function readLive(text: string): { turn: number; delta: string } | null {
  const live = JSON.parse(text) as { turn?: unknown; delta?: unknown };
  return typeof live.turn === 'number' && typeof live.delta === 'string'
    ? { turn: live.turn, delta: live.delta }
    : null;
}

function activityOf(
  activity: ActivityLog,
  sessionId: string,
  after: ActivityPlace,
  deltas: DeltaInbox,
): EventSource {
  let place = after;
  return {
    read: async () => {
      // Before the items: what was being written is whole in the message that follows it.
      const written = deltas.events();
      const entries = await activity.read(sessionId, place, ITEMS_READ_MAX);
      place = entries.at(-1) ?? place;
      return {
        events: [...written, ...entries.map(liveItem)],
        reached: encodePlace(place),
        more: entries.length === ITEMS_READ_MAX,
      };
    },
  };
}

const liveItem = (entry: ActivityEntry): LiveEvent => {
  const item = itemOf(entry);
  const text = `id: ${item.cursor}\nevent: ${item.type}\ndata: ${JSON.stringify(item)}\n\n`;
  return { cursor: item.cursor, text };
};

const itemOf = (entry: ActivityEntry): ActivityItem => {
  const { turn, at, item } = entry;
  return { ...(item as unknown as ActivityItem), cursor: encodePlace(entry), turn, at };
};

const encodePlace = ({ turn, part, seq }: ActivityPlace): string => `${turn}.${part}.${seq}`;

/** Throws `invalid` for what is no place in an activity. */
function decodePlace(text: string): ActivityPlace {
  if (text === '0') return { turn: 0, part: 0, seq: 0 };
  const match = /^(\d{1,9})\.([01])\.(\d{1,9})$/.exec(text);
  if (match) return { turn: Number(match[1]), part: Number(match[2]), seq: Number(match[3]) };
  throw new HangarError('invalid', 'The cursor is not one of an activity.', {
    hint: 'Use the cursor of an item, 0 for the beginning, or none.',
  });
}
