import type { SandboxEvent } from '@hangar/contracts';
import {
  createAggregate,
  type AggregateHandler,
  type EventStore,
  type Transaction,
} from '@hangar/messaging';
import type pg from 'pg';
import { decide, type SandboxCommand } from './sandbox.decider.ts';
import { evolve, initialState, type SandboxState } from './sandbox.ts';

export type Sandboxes = AggregateHandler<SandboxState, SandboxCommand>;

/** What the reaper walks: one row per sandbox that is not over. */
export const SANDBOX_INDEX_TABLE = `create table if not exists sandbox_index (
  sandbox_id text primary key,
  session_id text not null,
  status text not null,
  expires_at timestamptz,
  created_at timestamptz not null default now()
);`;

export const PROVISION = 'sandbox.provision';
export const DESTROY = 'sandbox.destroy';

export function createSandboxes(pool: pg.Pool, store: EventStore): Sandboxes {
  return createAggregate<SandboxState, SandboxEvent, SandboxCommand>({
    aggregate: 'sandbox',
    pool,
    store,
    foldVersion: 1,
    initial: initialState,
    evolve,
    decide,
    effects: (event) => {
      if (event.type === 'SandboxProvisionRequested') {
        const { sandbox_id, session_id } = event.data;
        const payload = { sandbox_id, correlation: session_id };
        return [{ key: `provision/${sandbox_id}`, kind: PROVISION, payload }];
      }
      if (event.type === 'SandboxDestroyRequested') {
        const { sandbox_id, session_id, cause } = event.data;
        const payload = { sandbox_id, cause, correlation: session_id };
        return [{ key: `destroy/${sandbox_id}`, kind: DESTROY, payload }];
      }
      return [];
    },
    alongside: async (tx, id, before, events) => {
      const after = events.reduce(evolve, before);
      if (after) await index(tx, id, after);
    },
  });
}

async function index(tx: Transaction, id: string, s: NonNullable<SandboxState>): Promise<void> {
  if (s.status === 'destroyed') {
    await tx.query('delete from sandbox_index where sandbox_id = $1', [id]);
    return;
  }
  await tx.query(
    `insert into sandbox_index (sandbox_id, session_id, status, expires_at)
     values ($1, $2, $3, $4)
     on conflict (sandbox_id) do update
       set status = excluded.status, expires_at = excluded.expires_at`,
    [id, s.request.session_id, s.status, s.expires_at],
  );
}

/** Sandboxes that were asked for before this one and still are, or may be, somewhere. */
export async function sandboxesAhead(pool: pg.Pool, sandboxId: string): Promise<number> {
  const { rows } = await pool.query<{ ahead: number }>(
    `select count(*)::int as ahead from sandbox_index other, sandbox_index mine
     where mine.sandbox_id = $1 and other.sandbox_id <> mine.sandbox_id
       and (other.created_at, other.sandbox_id) < (mine.created_at, mine.sandbox_id)`,
    [sandboxId],
  );
  return rows[0]?.ahead ?? 0;
}
