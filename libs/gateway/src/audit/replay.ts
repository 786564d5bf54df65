import { HangarError, type SessionDocument } from '@hangar/contracts';
import { PAGE_EVENTS_MAX, type EventStore } from '@hangar/messaging';
import { projectSession } from '../sessions/session.projection.ts';
import { sessionDocument, type SessionRows } from '../sessions/session.document.ts';
import type { ViewRow, ViewTable } from '../views/view-change.ts';
import { MemoryViews } from '../views/view-memory.ts';

/** Folds the first `version` events with the projection of the live read models. */
export async function replaySession(
  store: Pick<EventStore, 'readStream'>,
  id: string,
  version: number,
): Promise<SessionDocument> {
  const views = new MemoryViews();
  for (let reached = 0; reached < version;) {
    const size = Math.min(PAGE_EVENTS_MAX, version - reached);
    const page = await store.readStream(`session/${id}`, reached + 1, size);
    if (page.length === 0) throw beyond(id, reached);
    for (const event of page) views.apply(projectSession(event));
    reached += page.length;
  }
  const [session] = rowsOf<SessionRows['session']>(views, 'session_view');
  if (!session) throw beyond(id, 0);
  return sessionDocument({
    session,
    turns: rowsOf(views, 'turn_view'),
    checkpoints: rowsOf(views, 'checkpoint_view'),
    messages: rowsOf(views, 'message_view'),
    cards: rowsOf(views, 'card_view'),
  });
}

const beyond = (id: string, version: number): HangarError =>
  new HangarError('invalid', `The log of ${id} ends at version ${version}.`, {
    hint: 'Ask for a version up to the one that the session shows.',
  });

/** Columns that Postgres gives back as times. */
const TIME = /_at$|^since$/;

function rowsOf<Row>(views: MemoryViews, table: ViewTable): Row[] {
  return views.rows(table).map((row) => asRead(row) as Row);
}

const asRead = (row: ViewRow): object =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      TIME.test(column) && typeof value === 'string' ? new Date(value) : value,
    ]),
  );
