import type { ActivityService } from '../activity/activity.service.ts';
import type { Caller } from '../auth/caller.ts';
import type { SessionRows } from '../sessions/session.document.ts';
import { activityLine } from './activity.line.ts';

/** At most one notification in this time. */
export const PROGRESS_MS_MIN = 1000;
/** Without anything new the client hears after this long that it is still waited for. */
export const PROGRESS_QUIET_MS_MAX = 15_000;
/** Items of the agent's activity that one notification tells of, the newest. */
const PROGRESS_LINES_MAX = 5;
const PROGRESS_ITEMS_READ_MAX = 50;
const PROGRESS_LINE_CHARACTERS_MAX = 200;

/** What a person who waits wants to hear of; results of tools are long and said by the agent. */
const TOLD: ReadonlySet<string> = new Set([
  'message',
  'tool_started',
  'file_changed',
  'retrying',
  'asked',
  'notice',
]);

export interface Progress {
  /** Grows with each notification, as the protocol wants; it has no total. */
  progress: number;
  message: string;
}

/** Tells a client that waits where the session is and what its agent does, at a bounded rate. */
export class ProgressTeller {
  readonly #caller: Caller;
  readonly #activity: Pick<ActivityService, 'head' | 'list'>;
  readonly #tell: (progress: Progress) => Promise<void>;
  readonly #now: () => number;
  #told = 0;
  #toldAt = Number.NEGATIVE_INFINITY;
  #place = '';
  #cursor: string | null = null;

  constructor(parts: {
    caller: Caller;
    activity: Pick<ActivityService, 'head' | 'list'>;
    tell: (progress: Progress) => Promise<void>;
    /** Monotonic, in milliseconds. */
    now: () => number;
  }) {
    this.#caller = parts.caller;
    this.#activity = parts.activity;
    this.#tell = parts.tell;
    this.#now = parts.now;
  }

  /** With each look at the session; `null`: it was deleted. */
  async look(rows: SessionRows | null): Promise<void> {
    const now = this.#now();
    if (rows === null || now - this.#toldAt < PROGRESS_MS_MIN) return;
    const place = placeOf(rows);
    const lines = await this.#newLines(rows.session.id);
    const isQuiet = place === this.#place && lines.length === 0;
    if (isQuiet && now - this.#toldAt < PROGRESS_QUIET_MS_MAX) return;
    // Whose token was revoked meanwhile hears no more of the work [Z1].
    if (!(await this.#caller.stillAllowed())) return;
    this.#place = place;
    this.#toldAt = now;
    this.#told += 1;
    await this.#tell({ progress: this.#told, message: [place, ...lines].join('\n') });
  }

  async #newLines(sessionId: string): Promise<string[]> {
    this.#cursor ??= await this.#activity.head(this.#caller, sessionId);
    const { items } = await this.#activity.list(this.#caller, sessionId, {
      after: this.#cursor,
      limit: PROGRESS_ITEMS_READ_MAX,
    });
    this.#cursor = items.at(-1)?.cursor ?? this.#cursor;
    return items
      .filter(({ type }) => TOLD.has(type))
      .slice(-PROGRESS_LINES_MAX)
      .map((item) => activityLine(item, PROGRESS_LINE_CHARACTERS_MAX));
  }
}

function placeOf({ session, turns }: SessionRows): string {
  const running = turns.find(({ finished_at }) => finished_at === null);
  const detail = session.start_phase ?? (running ? `turn ${running.number}` : null);
  return detail === null ? session.state : `${session.state}: ${detail}`;
}
