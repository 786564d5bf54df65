import { HangarError, type SessionEvent } from '@hangar/contracts';
import {
  createAggregate,
  type AggregateHandler,
  type EventStore,
  type Presence,
  type TimerChange,
  type Transaction,
} from '@hangar/messaging';
import type pg from 'pg';
import type { SessionCommand } from './session.commands.ts';
import { decide } from './session.decider.ts';
import { evolve } from './session.evolve.ts';
import { heldSandbox, initialState, type SessionState } from './session.ts';
import { wantedTimers, type SessionSettings, type WantedTimer } from './session.timers.ts';

/** Goes up with every change of `evolve` or of the state's shape. */
const FOLD_VERSION = 8;

export type Sessions = AggregateHandler<SessionState, SessionCommand>;

/** Names are unique per owner among sessions that are not archived [S1]; a row holds each. */
export const SESSION_NAME_TABLE = `create table if not exists session_name (
  owner text not null,
  name text not null,
  session_id text not null,
  primary key (owner, name)
);`;

export function createSessions(options: {
  pool: pg.Pool;
  store: EventStore;
  presence: Presence;
  settings: SessionSettings;
}): Sessions {
  const { pool, store, presence, settings } = options;
  return createAggregate<SessionState, SessionEvent, SessionCommand>({
    aggregate: 'session',
    pool,
    store,
    foldVersion: FOLD_VERSION,
    initial: initialState,
    evolve,
    decide,
    timers: (id, before, after) => changedTimers(id, before, after, settings),
    alongside: async (tx, id, before, events) => {
      let state = before;
      for (const event of events) {
        state = evolve(state, event);
        if (state) await reserveName(tx, id, state, event);
        if (state) await gateSandbox(presence, tx, state, event);
      }
    },
  });
}

export const timerId = (sessionId: string, kind: WantedTimer['kind']): string =>
  `${kind}/${sessionId}`;

function changedTimers(
  id: string,
  before: SessionState,
  after: SessionState,
  settings: SessionSettings,
): TimerChange[] {
  const had = new Map((before ? wantedTimers(before, settings) : []).map((t) => [t.kind, t.dueAt]));
  const wants = after ? wantedTimers(after, settings) : [];
  const armed: TimerChange[] = wants
    .filter((t) => had.get(t.kind) !== t.dueAt)
    .map((t) => ({
      id: timerId(id, t.kind),
      kind: `session.${t.kind}`,
      dueAt: new Date(t.dueAt),
      payload: { session_id: id },
    }));
  const kept = new Set(wants.map((t) => t.kind));
  const cancelled: TimerChange[] = [...had.keys()]
    .filter((kind) => !kept.has(kind))
    .map((kind) => ({ id: timerId(id, kind), cancel: true }));
  return [...armed, ...cancelled];
}

async function reserveName(
  tx: Transaction,
  id: string,
  s: NonNullable<SessionState>,
  event: SessionEvent,
): Promise<void> {
  switch (event.type) {
    case 'SessionRenamed':
      await tx.query('delete from session_name where session_id = $1', [id]);
      break;
    case 'SessionCreated':
      break;
    case 'SessionArchived':
    case 'SessionDeleted':
      await tx.query('delete from session_name where session_id = $1', [id]);
      return;
    default:
      return;
  }
  if (s.phase.state === 'ARCHIVED') return;
  const { rowCount } = await tx.query(
    'insert into session_name (owner, name, session_id) values ($1, $2, $3) on conflict do nothing',
    [s.owner, s.name, id],
  );
  if (rowCount) return;
  throw new HangarError('conflict', `you already have a session called ${s.name}`, {
    hint: `open it with its name, archive it, or choose another name`,
  });
}

/** While a session is being suspended nobody gets into its sandbox: what they did would be lost. */
async function gateSandbox(
  presence: Presence,
  tx: Transaction,
  s: NonNullable<SessionState>,
  event: SessionEvent,
): Promise<void> {
  const hold = heldSandbox(s);
  if (!hold) return;
  if (event.type === 'SuspendRequested') await presence.close(hold.id, true, tx);
  if (event.type === 'SuspendAborted') await presence.close(hold.id, false, tx);
}
