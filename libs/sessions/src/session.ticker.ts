import { RELEASE_DEADLINE_MINUTES, TURN_GRACE_MINUTES } from '@hangar/contracts';
import {
  createTimerRunner,
  type DueTimer,
  type Presence,
  type TimerRunner,
  type Transaction,
  type Wake,
} from '@hangar/messaging';
import type pg from 'pg';
import type { SessionCommand } from './session.commands.ts';
import type { Sessions } from './session.service.ts';
import { timerId } from './session.service.ts';
import { heldSandbox, turnOf, type Session } from './session.ts';
import { wantedTimers, type SessionSettings, type WantedTimer } from './session.timers.ts';

export interface TickerOptions {
  pool: pg.Pool;
  wake: Wake;
  sessions: Sessions;
  presence: Presence;
  settings: SessionSettings;
  now(): Date;
  onError(error: unknown): void;
}

/** The clock as a source of commands. A timer that fires early or late is judged by the decider. */
export function createSessionTicker(options: TickerOptions): TimerRunner {
  const { pool, wake, sessions, settings, now, onError } = options;
  const fire =
    (toCommand: ToCommand) =>
    async (timer: DueTimer, tx: Transaction): Promise<void> => {
      const id = String(timer.payload['session_id']);
      const { state } = await sessions.load(id, tx);
      if (!state) return;
      const command = await toCommand(state, now().toISOString(), tx);
      const meta = { actor: 'service:clock', cause: null, correlation: timer.id };
      const { events } = command
        ? await sessions.execute(id, command, { meta, tx })
        : { events: [] };
      const { state: after } = events.length ? await sessions.load(id, tx) : { state };
      if (after) await rearm(tx, timer, id, after);
    };

  /**
   * What is still wanted is looked at again later: nothing came of it (activity moved, a checkpoint
   * is being taken), or something else did. One that was armed anew is left as it is.
   */
  const rearm = async (
    tx: Transaction,
    timer: DueTimer,
    id: string,
    state: Session,
  ): Promise<void> => {
    const kind = timer.kind.replace('session.', '');
    const wanted = wantedTimers(state, settings).find((t) => t.kind === kind);
    if (!wanted) return;
    const soonest = now().getTime() + RECHECK_MS;
    const dueAt = new Date(Math.max(soonest, Date.parse(wanted.dueAt)));
    await tx.query(
      `insert into es.timer (id, due_at, kind, stream_id, payload) values ($1, $2, $3, $4, $5)
       on conflict (id) do nothing`,
      [timerId(id, wanted.kind), dueAt, timer.kind, timer.stream, JSON.stringify(timer.payload)],
    );
  };

  return createTimerRunner({
    pool,
    wake,
    now,
    onError,
    kinds: Object.fromEntries(
      Object.entries(commandsOfTimers(options)).map(([kind, toCommand]) => [
        `session.${kind}`,
        fire(toCommand),
      ]),
    ),
  });
}

/** How soon a timer that came to nothing is looked at again. */
const RECHECK_MS = 15_000;

type ToCommand = (s: Session, at: string, tx: Transaction) => Promise<SessionCommand | null>;

/** What each timer asks of the session when it is due; the decider judges. */
function commandsOfTimers({
  presence,
  settings,
}: TickerOptions): Record<WantedTimer['kind'], ToCommand> {
  return {
    start: async (_s, at) => ({
      type: 'FailIfLate',
      now: at,
      data: { start_deadline_minutes: settings.startDeadlineMinutes },
    }),
    interval: async (_s, at) => ({
      type: 'CheckpointIfDue',
      now: at,
      data: { checkpoint_minutes: settings.checkpointMinutes },
    }),
    idle: async (s, at, tx) => {
      const hold = heldSandbox(s);
      if (!hold) return null;
      const { lastActiveAt, held } = await presence.read(hold.id, tx);
      const last_active_at = lastActiveAt?.toISOString() ?? null;
      return { type: 'SuspendIfIdle', now: at, data: { last_active_at, busy: held } };
    },
    checkpoint: async (s, at) =>
      s.checkpointing
        ? {
            type: 'MissCheckpoint',
            now: at,
            data: {
              checkpoint_id: s.checkpointing.id,
              reason: s.checkpointing.reason,
              error: 'the checkpoint gave no word in time',
            },
          }
        : null,
    turn: async (s, at) => {
      if (s.phase.state !== 'ACTIVE') return null;
      const { turn } = s.phase;
      return {
        type: 'LoseTurn',
        now: at,
        data: {
          turn,
          run_id: turnOf(s, turn)?.run_id ?? '',
          reason: `no word from the run ${TURN_GRACE_MINUTES} minutes after its time limit`,
          sandbox_gone: false,
          is_silent: true,
        },
      };
    },
    limit: async (_s, at) => ({ type: 'EndUsageLimit', now: at, data: {} }),
    release: async (_s, at) => ({
      type: 'SuspendIfReleaseLate',
      now: at,
      data: { release_deadline_minutes: RELEASE_DEADLINE_MINUTES },
    }),
  };
}
