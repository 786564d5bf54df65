import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import type { HangarClient } from '@hangar/client';
import type { EventDocument, Page, SessionDocument, SessionSummary } from '@hangar/contracts';
import { goneSessions, sessionIsGone } from './gone-sessions.ts';
import { followWhileSeen } from './line-sharing.ts';
import { lineLost, lineWorks } from './liveness.ts';
import { keys } from './queries.ts';
import { summaryOf } from './summary-of.ts';

/** Events come in bursts: what they changed is read once for all that came within this time. */
const GATHER_MS = 120;
/** More sessions than this in one burst are read as pages of the list. */
const SESSIONS_READ_MAX = 12;

export type SessionPages = InfiniteData<Page<SessionSummary>, string | undefined>;

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
    const isListOld = this.#listIsOld || ids.length > SESSIONS_READ_MAX;
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
    if (isListOld) void this.#queries.invalidateQueries({ queryKey: keys.sessions });
    else for (const id of ids) await this.#patchRow(id);
  }

  /** One row instead of all pages, where a list that is shown has it. */
  async #patchRow(id: string): Promise<void> {
    const lists = this.#queries
      .getQueryCache()
      .findAll({ queryKey: keys.sessions, type: 'active' })
      .filter(({ state }) => hasRow(state.data as SessionPages | undefined, id));
    if (lists.length === 0) return;
    const document = await this.#queries
      .fetchQuery({
        queryKey: keys.session(id),
        queryFn: ({ signal }) => this.#client.sessions.get(id, { signal }),
        staleTime: 0,
      })
      .catch(() => null);
    if (!document) return void this.#queries.invalidateQueries({ queryKey: keys.sessions });
    const row = summaryOf(document);
    for (const { queryKey } of lists) {
      const [, filter] = queryKey as [string, { state?: string } | undefined];
      if (filter?.state !== undefined && filter.state !== row.state)
        void this.#queries.invalidateQueries({ queryKey });
      else
        this.#queries.setQueryData<SessionPages>(queryKey, (pages) => pages && withRow(pages, row));
    }
  }
}

const hasRow = (pages: SessionPages | undefined, id: string): boolean =>
  pages?.pages.some(({ items }) => items.some((item) => item.id === id)) ?? false;

const withRow = (pages: SessionPages, row: SessionSummary): SessionPages => ({
  ...pages,
  pages: pages.pages.map((page) => ({
    ...page,
    items: page.items.map((item) => (item.id === row.id ? row : item)),
  })),
});
