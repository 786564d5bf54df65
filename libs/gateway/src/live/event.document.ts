import { sessionOfPart, type EventDocument } from '@hangar/contracts';
import type { EventStore, RecordedEvent } from '@hangar/messaging';

/** The session that an event belongs to, told by its stream; null for environments and access. */
export function sessionOf(stream: string): string | null {
  const slash = stream.indexOf('/');
  const id = stream.slice(slash + 1);
  switch (stream.slice(0, slash)) {
    case 'session':
      return id;
    case 'sandbox':
    case 'checkpoint':
    case 'run':
    case 'terminal':
      return sessionOfPart(id);
    default:
      return null;
  }
}

export const eventDocument = (
  event: RecordedEvent,
  owner: string | null,
  cursor: string,
): EventDocument => ({
  cursor,
  id: event.id,
  type: event.type,
  stream: event.stream,
  version: event.version,
  schema: event.schema,
  session_id: sessionOf(event.stream),
  owner,
  at: event.at,
  actor: event.meta.actor,
  cause: event.meta.cause,
  correlation: event.meta.correlation,
  data: event.data,
});

/** Owners of sessions that are remembered at once; they never change. */
const REMEMBERED_MAX = 10_000;

/** Whose an event is, from the log itself: the read models may be a moment behind it. */
export class EventOwners {
  readonly #readStream: EventStore['readStream'];
  readonly #owners = new Map<string, string>();

  constructor(store: Pick<EventStore, 'readStream'>) {
    this.#readStream = store.readStream;
  }

  /** null: nobody's. */
  async ownerOf(event: RecordedEvent): Promise<string | null> {
    const { owner } = event.data;
    if (typeof owner === 'string') return owner;
    const id = sessionOf(event.stream);
    return id === null ? null : this.#ownerOfSession(id);
  }

  async #ownerOfSession(id: string): Promise<string | null> {
    const known = this.#owners.get(id);
    if (known !== undefined) return known;
    const [created] = await this.#readStream(`session/${id}`, 1, 1);
    const owner = created?.data['owner'];
    if (typeof owner !== 'string') return null;
    const [oldest] = this.#owners.keys();
    if (this.#owners.size >= REMEMBERED_MAX && oldest !== undefined) this.#owners.delete(oldest);
    this.#owners.set(id, owner);
    return owner;
  }
}
