import type { Query, QueryClient, QueryKey } from '@tanstack/react-query';
import type { HangarClient, SessionFilter } from '@hangar/client';
import type { EventDocument, SessionDocument } from '@hangar/contracts';
import { goneSessions, sessionIsGone } from './gone-sessions.ts';
import { followWhileSeen } from './line-sharing.ts';
import { lineLost, lineWorks } from './liveness.ts';
import { keys } from './queries.ts';
import { hasRow, withoutRows, withRow, withTop, type SessionPages } from './session-pages.ts';
import { summaryOf } from './summary-of.ts';

/** Events come in bursts: what they changed is read once for all that came within this time. */
const GATHER_MS = 120;
/** More sessions than this in one burst are read as pages of the list. */
const SESSIONS_READ_MAX = 12;

/** Keeps everything that is shown up to date with the server's events; returns how to end it. */
export function startLive(
  client: HangarClient,
  queries: QueryClient,
  onRefused: () => void,
): () => void {
  const changes = new Changes(client, queries);
  return followWhileSeen<EventDocument>({
    open: (lastEventId, signal) =>
      client.events.all({
        lastEventId,
        signal,
        onConnect: () => {
          lineWorks();
          // Without a place to go on from, what is shown may have missed something.
          if (lastEventId === undefined) void queries.invalidateQueries();
        },
        onReconnect: lineLost,
      }),
    idOf: ({ cursor }) => cursor,
    take: (event) => changes.take(event),
    onLost: lineLost,
    onRefused,
  });
}

/** Nouns whose pages are read again when an event of theirs comes, by the beginning of its name. */
const NOUNS: readonly [string, readonly string[]][] = [
  ['Environment', keys.environments],
  ['Secret', keys.secrets],
  ['Token', keys.tokens],
];

class Changes {
  readonly #client: HangarClient;
  readonly #queries: QueryClient;
  readonly #sessions = new Set<string>();
  #listIsOld = false;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(client: HangarClient, queries: QueryClient) {
    this.#client = client;
    this.#queries = queries;
  }

  take(event: EventDocument): void {
    for (const [noun, key] of NOUNS)
      if (event.type.startsWith(noun)) void this.#queries.invalidateQueries({ queryKey: key });
    if (event.session_id === null) return;
    if (event.type === 'SessionDeleted') sessionIsGone(event.session_id);
    if (!goneSessions.get().has(event.session_id)) this.#sessions.add(event.session_id);
    if (['SessionCreated', 'SessionDeleted'].includes(event.type)) this.#listIsOld = true;
    if (event.type === 'TurnFinished' || event.type === 'SandboxReleased')
      void this.#queries.invalidateQueries({ queryKey: ['changes', event.session_id] });
    if (event.type === 'RunToolDecided')
      void this.#queries.invalidateQueries({ queryKey: ['decisions', event.session_id] });
    if (this.#timer === null) this.#timer = setTimeout(() => void this.#read(), GATHER_MS);
  }

  async #read(): Promise<void> {
    this.#timer = null;
    const ids = [...this.#sessions].filter((id) => !goneSessions.get().has(id));
    const isListOld = this.#listIsOld;
    this.#sessions.clear();
    this.#listIsOld = false;
    void this.#queries.invalidateQueries({ queryKey: keys.cards });
    // One that has no answer yet may be asked for under a name: it could be any of these.
    void this.#queries.invalidateQueries({
      predicate: ({ queryKey, state }) =>
        queryKey[0] === 'session' &&
        (ids.includes(queryKey[1] as string) ||
          state.data === undefined ||
          ids.includes((state.data as SessionDocument).id)),
    });
    const lists = this.#queries
      .getQueryCache()
      .findAll({ queryKey: keys.sessions, type: 'active' });
    for (const list of lists) await this.#bringUp(list, ids, isListOld);
  }

  /** A list that is shown: row by row where that can be, for it may have been scrolled far. */
  async #bringUp({ queryKey }: Query, ids: string[], isListOld: boolean): Promise<void> {
    const filter = queryKey[1] as SessionFilter | 'recent';
    // A session that is in another state now comes or goes, anywhere in a list of one state.
    if (filter === 'recent' || filter.state !== undefined || ids.length > SESSIONS_READ_MAX)
      return void this.#queries.invalidateQueries({ queryKey });
    if (isListOld) await this.#readTop(queryKey, filter);
    for (const id of ids) await this.#patchRow(queryKey, id);
  }

  /** What is new comes at its top, and what was deleted goes. */
  async #readTop(queryKey: QueryKey, filter: SessionFilter): Promise<void> {
    const page = await this.#client.sessions.list(filter).catch(() => null);
    // What is known may have changed while the page was read: it is joined with what is there now.
    let isJoined = false;
    this.#queries.setQueryData<SessionPages>(queryKey, (pages) => {
      const joined = pages && page ? withTop(pages, page.items) : null;
      isJoined = joined !== null;
      return joined ? withoutRows(joined, goneSessions.get()) : pages;
    });
    if (!isJoined) void this.#queries.invalidateQueries({ queryKey });
  }

  async #patchRow(queryKey: QueryKey, id: string): Promise<void> {
    if (!hasRow(this.#queries.getQueryData<SessionPages>(queryKey), id)) return;
    const document = await this.#queries
      .fetchQuery({
        queryKey: keys.session(id),
        queryFn: ({ signal }) => this.#client.sessions.get(id, { signal }),
        staleTime: 0,
      })
      .catch(() => null);
    if (!document) return void this.#queries.invalidateQueries({ queryKey });
    const row = summaryOf(document);
    this.#queries.setQueryData<SessionPages>(queryKey, (pages) => pages && withRow(pages, row));
  }
}
