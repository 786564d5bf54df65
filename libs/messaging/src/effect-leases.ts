import { HangarError } from '@hangar/contracts';
import type pg from 'pg';
import type { JsonObject } from './json.ts';
import type { Transaction } from './transaction.ts';

/** `lease` goes up with every owner: it is the fence, a heartbeat alone is not one. */
export interface EffectLease {
  key: string;
  kind: string;
  stream: string;
  payload: JsonObject;
  attempts: number;
  lease: number;
}

export interface LeaseScope {
  instance: string;
  kinds: string[];
  leaseMs: number;
}

/** All times are the database's, so that replicas need no common clock. */
const TAKE = `update es.effect set state = 'leased', lease_owner = $1, attempts = attempts + 1,
    lease = lease + 1, lease_until = now() + make_interval(secs => $3 / 1000.0)
  where key = (
    select key from es.effect
    where kind = any($2) and next_at <= now()
      and (state = 'ready' or (state = 'leased' and lease_until < now()))
    order by next_at limit 1 for update skip locked)
  returning key, kind, stream_id as stream, payload, attempts, lease`;
const TAKE_OVER = `update es.effect set lease_until = now() - interval '1 second', next_at = now()
  where state = 'leased' and lease_owner = $1 and kind = any($2)`;
const NEXT = `select (extract(epoch from min(
    case state when 'leased' then greatest(lease_until, next_at) else next_at end) - now())
    * 1000)::float8 as ms
  from es.effect where state in ('ready', 'leased') and kind = any($1)`;
const RENEW = `update es.effect set lease_until = now() + make_interval(secs => $3 / 1000.0)
  where key = $1 and lease = $2 and state = 'leased' and lease_until > now()`;
const DONE = `update es.effect set state = 'done', lease_until = null, error = null
  where key = $1 and lease = $2 and state = 'leased'`;
const IS_DONE = `select from es.effect where key = $1 and lease = $2 and state = 'done'`;
const YIELD = `update es.effect set state = $3, next_at = now() + make_interval(secs => $4 / 1000.0),
    attempts = attempts - $5, lease_until = null, lease_owner = null, error = $6
  where key = $1 and lease = $2 and state = 'leased'`;

export async function takeEffect(
  pool: pg.Pool,
  scope: LeaseScope,
): Promise<EffectLease | undefined> {
  const values = [scope.instance, scope.kinds, scope.leaseMs];
  return (await pool.query<EffectLease>(TAKE, values)).rows[0];
}

/** Ends the leases that a runner of the same name left when it died. */
export async function takeOver(pool: pg.Pool, scope: LeaseScope): Promise<void> {
  await pool.query(TAKE_OVER, [scope.instance, scope.kinds]);
}

/** Milliseconds until an effect can be taken, negative when one can be; undefined if none is. */
export async function nextEffectMs(pool: pg.Pool, scope: LeaseScope): Promise<number | undefined> {
  const { rows } = await pool.query<{ ms: number | null }>(NEXT, [scope.kinds]);
  return rows[0]?.ms ?? undefined;
}

export async function renewLease(
  pool: pg.Pool,
  lease: EffectLease,
  leaseMs: number,
): Promise<boolean> {
  return (await pool.query(RENEW, [lease.key, lease.lease, leaseMs])).rowCount === 1;
}

/** Throws `conflict` when the lease went to somebody else. */
export async function finishLease(
  connection: pg.Pool | Transaction,
  lease: EffectLease,
  mayBeDone = false,
): Promise<void> {
  const values = [lease.key, lease.lease];
  const query = (text: string): Promise<{ rowCount: number | null }> =>
    (connection as Transaction).query(text, values);
  if ((await query(DONE)).rowCount === 1) return;
  if (mayBeDone && (await query(IS_DONE)).rowCount === 1) return;
  throw new HangarError('conflict', `the lease of ${lease.key} was lost before it was done`);
}

export interface Yield {
  afterMs: number;
  isDead: boolean;
  /** Whether this try counts towards the maximum. */
  isCounted: boolean;
  error?: string;
}

/** Gives an effect back; false when the lease had gone to somebody else already. */
export async function yieldLease(pool: pg.Pool, lease: EffectLease, how: Yield): Promise<boolean> {
  const state = how.isDead ? 'dead' : 'ready';
  const uncounted = how.isCounted ? 0 : 1;
  const values = [lease.key, lease.lease, state, how.afterMs, uncounted, how.error ?? null];
  return (await pool.query(YIELD, values)).rowCount === 1;
}
