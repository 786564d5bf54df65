import { useEffect } from 'react';
import { useQueryClient, type QueryClient } from '@tanstack/react-query';
import type { ActivityMoment } from '@hangar/client';
import type { ActivityItem } from '@hangar/contracts';
import { mergeItems } from './activity-items.ts';
import { useClient } from './client.tsx';
import { followWhileSeen } from './line-sharing.ts';
import { keys } from './queries.ts';

/** Words come one by one; they are shown in one go for all that came within this time. */
const SHOW_MS = 60;

/** What the agent is writing and no message has yet. */
export interface Writing {
  turn: number;
  text: string;
}

export const writingKey = (sessionId: string) => ['writing', sessionId] as const;

/**
 * Follows what the agent does from the turn on that is the newest when the page opens; that turn and
 * the later ones are known by this alone, the earlier ones are read (turn-activity.ts of the conversation).
 */
export function useLiveActivity(sessionId: string, fromTurn: number): void {
  const client = useClient();
  const queries = useQueryClient();
  useEffect(() => {
    const shown = new Shown(queries, sessionId);
    const stop = followWhileSeen<ActivityMoment>({
      startId: fromTurn === 0 ? '0' : `${fromTurn}.0.0`,
      open: (lastEventId, signal) =>
        client.activity.follow(sessionId, {
          lastEventId,
          signal,
          onConnect: () => shown.restart(),
        }),
      idOf: (moment) => ('item' in moment ? moment.item.cursor : undefined),
      take: (moment) => shown.take(moment),
    });
    return () => {
      stop();
      shown.stop();
    };
  }, [client, queries, sessionId, fromTurn]);
}

class Shown {
  readonly #queries: QueryClient;
  readonly #sessionId: string;
  #items: ActivityItem[] = [];
  #writing: Writing | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(queries: QueryClient, sessionId: string) {
    this.#queries = queries;
    this.#sessionId = sessionId;
  }

  take(moment: ActivityMoment): void {
    if ('item' in moment) {
      this.#items.push(moment.item);
      // What was being written is whole in the message that follows it.
      if (['message', 'ended', 'asked'].includes(moment.item.type)) this.#writing = null;
    } else {
      const { turn, delta } = moment.delta;
      const before = this.#writing?.turn === turn ? this.#writing.text : '';
      this.#writing = { turn, text: before + delta };
    }
    this.#timer ??= setTimeout(() => this.#show(), SHOW_MS);
  }

  /** Text that was being written when a line was lost has a hole: the message will have it whole. */
  restart(): void {
    this.#writing = null;
    this.#show();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #show(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const items = this.#items;
    this.#items = [];
    for (const turn of new Set(items.map((item) => item.turn)))
      this.#queries.setQueryData<ActivityItem[]>(keys.activity(this.#sessionId, turn), (known) =>
        mergeItems(
          known ?? [],
          items.filter((item) => item.turn === turn),
        ),
      );
    this.#queries.setQueryData(writingKey(this.#sessionId), this.#writing);
  }
}
