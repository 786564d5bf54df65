import { HangarError, type SessionDocument, type SessionEvent } from '@hangar/contracts';
import { eventually } from '@hangar/testing';
import type { GatewaySettings } from '../../../../../libs/gateway/src/settings.ts';
import { call, type Answered } from '../../../../../libs/gateway/src/testing/http.ts';
import {
  ADMIN_TOKEN,
  startGatewayStack,
  TEST_SETTINGS,
  type GatewayStack,
} from '../../../../../libs/gateway/src/testing/stack.ts';
import { evolve } from '../../../../../libs/sessions/src/session.evolve.ts';
import type { Session, SessionState } from '../../../../../libs/sessions/src/session.ts';

/** Shows that what happens is the value of a limit: at it one thing, past it another. */
export type LimitTest = (value: number, bench: LimitBench) => Promise<void> | void;

/** By the limit's name. */
export type LimitTests = Record<string, LimitTest>;

/** None is a default: a service that did not get its setting would be found out. */
export const SETTINGS: GatewaySettings = {
  ...TEST_SETTINGS,
  sessionCheckpointMinutes: 11,
  sessionKeepCheckpoints: 3,
  startDeadlineMinutes: 13,
  sandboxTtlMinutes: 77,
  maxActiveSessions: 2,
  webhookPrivate: 'true',
};

/** The environment whose limits are looked at; its recipe has each bound that a recipe can have. */
export const RECIPE = {
  name: 'bounded',
  idle_minutes: 7,
  turn_minutes: 3,
  session_max_part_mb: 1,
  session_max_untracked_mb: 2,
};

/** The gateway and the sessions service on a real log and bus, and what tests of limits ask of them. */
export class LimitBench {
  readonly stack: GatewayStack;
  readonly token = ADMIN_TOKEN;
  #made = 0;
  #resting: Promise<string> | undefined;

  private constructor(stack: GatewayStack) {
    this.stack = stack;
  }

  static async start(): Promise<LimitBench> {
    const bench = new LimitBench(await startGatewayStack(SETTINGS));
    await bench.call('POST /api/environments', RECIPE);
    return bench;
  }

  call<Body = Record<string, unknown>>(
    at: string,
    body?: unknown,
    headers: Record<string, string> = {},
    token?: string,
  ): Promise<Answered<Body>> {
    const options = { headers, ...(token === undefined ? {} : { token }) };
    return call<Body>(this.stack, at, body === undefined ? options : { ...options, body });
  }

  /** The name of something new. */
  name(): string {
    this.#made += 1;
    return `limit-${this.#made}`;
  }

  /** A new session, as soon as it is in the log. */
  async session(more: object = {}): Promise<SessionDocument> {
    const made = await this.call<SessionDocument>('POST /api/sessions', {
      name: this.name(),
      environment: RECIPE.name,
      harness: 'fake',
      ...more,
    });
    if (made.status === 201) return made.body;
    throw new HangarError('internal', JSON.stringify(made.body));
  }

  get(id: string): Promise<SessionDocument> {
    return this.call<SessionDocument>(`GET /api/sessions/${id}`).then(({ body }) => body);
  }

  /** A new session that is up and has nothing to do. */
  async atRest(): Promise<string> {
    const { id } = await this.session();
    await this.when(id, ({ state }) => state === 'IDLE');
    return id;
  }

  /** One that is up, for what leaves it as it is. */
  resting(): Promise<string> {
    this.#resting ??= this.atRest();
    return this.#resting;
  }

  /** A new session whose turn does not end until `RunFinished` is released. */
  async atWork(): Promise<string> {
    this.stack.spokes.held.add('RunFinished');
    const { id } = await this.session({ message: 'work' });
    await this.when(id, ({ turns, queue }) => Boolean(turns[0]?.started_at) && queue.length === 0);
    return id;
  }

  when(id: string, at: (session: SessionDocument) => boolean): Promise<true> {
    return eventually(async () => at(await this.get(id)));
  }

  async events(id: string): Promise<SessionEvent[]> {
    const { rows } = await this.stack.log.pool.query<SessionEvent>(
      'select type, data from es.event where stream_id = $1 order by version',
      [`session/${id}`],
    );
    return rows;
  }

  /** The session as its own service has it. */
  async state(id: string): Promise<Session> {
    const events = await this.events(id);
    const state = events.reduce((s: SessionState, event) => evolve(s, event), null);
    if (!state) throw new HangarError('not_found', id);
    return state;
  }

  /** When the session's clock is to be asked about it. */
  async timer(id: string, kind: string): Promise<Date> {
    return eventually(async () => {
      const { rows } = await this.stack.log.pool.query<{ due_at: Date }>(
        'select due_at from es.timer where stream_id = $1 and kind = $2',
        [`session/${id}`, `session.${kind}`],
      );
      return rows[0]?.due_at;
    });
  }
}

/** So many minutes later, RFC 3339. */
export const later = (from: string, minutes: number): string =>
  new Date(Date.parse(from) + minutes * 60_000).toISOString();

export const minutesBetween = (from: string, to: Date): number =>
  (to.getTime() - Date.parse(from)) / 60_000;

/** Just before a number of minutes. */
export const MOMENT_MINUTES = 1 / 600;

/** So many bytes of UTF-8, in about half as many characters. */
export const bytes = (count: number): string =>
  'é'.repeat(Math.floor(count / 2)) + 'x'.repeat(count % 2);
