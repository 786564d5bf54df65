import type { ActivityItem } from '@hangar/contracts';
import {
  activitySubject,
  createActivityLog,
  type ActivityLog,
  type JsonObject,
  type LogConnection,
} from '@hangar/messaging';

/** An agent at work, as its run tells what it does: items are kept, text is told to who is there. */
export class Agent {
  readonly #log: LogConnection;
  readonly #activity: ActivityLog;
  readonly #sessionId: string;

  constructor(log: LogConnection, sessionId: string) {
    this.#log = log;
    this.#activity = createActivityLog(log.pool);
    this.#sessionId = sessionId;
  }

  /** Further items of a process of a turn; says the cursors. */
  async does(
    place: { turn: number; part?: number },
    items: Partial<ActivityItem>[],
  ): Promise<string[]> {
    const { turn, part = 0 } = place;
    const known = await this.#activity.lastSeq(this.#sessionId, turn, part);
    const entries = items.map((item, index) => ({
      turn,
      part,
      seq: known + index + 1,
      at: new Date().toISOString(),
      item: item as JsonObject,
    }));
    await this.#activity.append(this.#sessionId, entries);
    this.#publish({ turn, seq: entries.at(-1)?.seq });
    return entries.map(({ seq }) => `${turn}.${part}.${seq}`);
  }

  writes(turn: number, delta: string): void {
    this.#publish({ turn, delta });
  }

  #publish(live: object): void {
    this.#log.nats.publish(activitySubject(this.#sessionId), JSON.stringify(live));
  }
}
