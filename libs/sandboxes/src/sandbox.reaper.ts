import { HangarError } from '@hangar/contracts';
import { ACTIVE_SECONDS, type Presence } from '@hangar/messaging';
import type { SandboxDriver, SandboxRef } from '@hangar/sandbox-drivers';
import type pg from 'pg';
import type { SandboxCommand } from './sandbox.decider.ts';
import type { Sandboxes } from './sandbox.service.ts';

export interface ReaperOptions {
  pool: pg.Pool;
  sandboxes: Sandboxes;
  driver: SandboxDriver;
  presence: Presence;
  ttlMinutes: number;
  /** Sandboxes at the same time [X6]. */
  activeMax: number;
  /** Sandboxes of hangar's own that no session owns. */
  isOwn(sandboxId: string): boolean;
  /** Told of each that is there and in the log, with every pass. */
  onFound?(ref: SandboxRef): void;
  intervalMs?: number;
  now(): Date;
  onError(error: unknown): void;
}

/** How often reality is compared with the log. */
const REAPER_MS = 5_000;
/** Looked at side by side, so that one stuck sandbox does not starve the others [X5]. */
const REAPER_CONCURRENCY = 8;
/** A session that did not let its sandbox go is asked again after this time, and then more seldom. */
const ASK_AGAIN_MS = 60_000;
const ASK_AGAIN_MS_MAX = 30 * 60_000;
/** A sandbox that is going makes room within this time, or is not counted on. */
const LEAVING_MS_MAX = 60_000;
/** A sandbox that no log knows is somebody's only while its creation is being recorded. */
const ORPHAN_SECONDS_MIN = 60;

interface Row {
  sandbox_id: string;
  status: string;
  expires_at: Date | null;
  created_at: Date;
}

/** What is asked for and awaited while some wait; a restart asks again, which does no harm. */
interface RoomMemory {
  asked: Map<string, { atMs: number; pauseMs: number }>;
  /** Since when each is known to be on its way, milliseconds. */
  leaving: Map<string, number>;
}

export interface Reaper {
  start(): void;
  stop(): Promise<void>;
  /** One comparison, for tests and for a person who does not want to wait. */
  pass(): Promise<void>;
}

/**
 * Compares the driver's list with the log: what ended by itself is lost, what nobody owns is an
 * orphan, what is past its time is announced. A driver that does not answer ends the pass: what
 * is unknown is not gone [S5].
 */
export function createReaper(options: ReaperOptions): Reaper {
  const { pool, driver, onError, intervalMs = REAPER_MS } = options;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let stopped = false;
  const memory: RoomMemory = { asked: new Map(), leaving: new Map() };
  const pass = async (): Promise<void> => {
    const found = new Map((await driver.list()).map((each) => [each.id, each]));
    const { rows } = await pool.query<Row>(
      'select * from sandbox_index order by created_at, sandbox_id',
    );
    const known = new Set(rows.map((row) => row.sandbox_id));
    for (const { id, status } of found.values())
      if (status.phase === 'ready' && known.has(id)) options.onFound?.(status.ref);
    const jobs: (() => Promise<void>)[] = [
      ...rows.map((row) => () => compare(options, row, found.get(row.sandbox_id)?.status ?? null)),
      ...[...found.values()]
        .filter((each) => !known.has(each.id) && !options.isOwn(each.id))
        .map((each) => () => removeOrphan(options, each.id, each.createdAt)),
    ];
    await sideBySide(jobs, onError);
    await makeRoom(options, rows, memory);
  };
  const loop = (): void => {
    running = pass()
      .catch(onError)
      .then(() => {
        if (!stopped) timer = setTimeout(loop, intervalMs);
      });
  };
  return {
    start: loop,
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
    pass,
  };
}

async function sideBySide(
  jobs: (() => Promise<void>)[],
  onError: (error: unknown) => void,
): Promise<void> {
  const queue = [...jobs];
  const worker = async (): Promise<void> => {
    for (let job = queue.shift(); job; job = queue.shift()) await job().catch(onError);
  };
  await Promise.all(Array.from({ length: REAPER_CONCURRENCY }, worker));
}

async function compare(
  options: ReaperOptions,
  row: Row,
  status: Awaited<ReturnType<SandboxDriver['get']>>,
): Promise<void> {
  if (row.status !== 'ready') return;
  if (status?.phase !== 'ready') {
    // Asked once more about this one: a list may be older than the sandbox.
    const again = await options.driver.get(row.sandbox_id);
    if (again?.phase === 'ready') return;
    const reason = again ? again.reason : 'it is not there any more';
    await tell(options, row.sandbox_id, { type: 'MarkLost', data: { reason } });
    return;
  }
  if (!row.expires_at || row.expires_at > options.now()) return;
  const seen = (await options.presence.lastActive([row.sandbox_id])).get(row.sandbox_id);
  const sinceMs = seen ? options.now().getTime() - seen.at.getTime() : Infinity;
  const active = seen?.held || sinceMs < ACTIVE_SECONDS * 1000;
  await tell(
    options,
    row.sandbox_id,
    active
      ? {
          type: 'ExtendSandbox',
          data: {
            expires_at: new Date(
              options.now().getTime() + options.ttlMinutes * 60_000,
            ).toISOString(),
            reason: 'it is in use',
          },
        }
      : { type: 'ExpireSandbox', data: { busy: false } },
  );
}

/**
 * At capacity the sessions that are idle for longest are asked to suspend, one for each that waits.
 * Who is at work, or kept up by a person, says so and is not taken; then the next one is asked [X6].
 */
async function makeRoom(
  options: ReaperOptions,
  rows: Row[],
  { asked, leaving }: RoomMemory,
): Promise<void> {
  const waiting = rows.slice(options.activeMax).filter(({ status }) => status === 'provisioning');
  const nowMs = options.now().getTime();
  // One that is on its way makes room soon; one that hangs there keeps nobody else waiting [X5].
  const ends = rows.filter(({ status }) => status !== 'provisioning' && status !== 'ready');
  for (const { sandbox_id: id } of ends) if (!leaving.has(id)) leaving.set(id, nowMs);
  for (const id of leaving.keys())
    if (!ends.some(({ sandbox_id }) => sandbox_id === id)) leaving.delete(id);
  const onTheWay = [...leaving.values()].filter((since) => nowMs - since < LEAVING_MS_MAX);
  let wanted = waiting.length - onTheWay.length;
  if (waiting.length === 0) asked.clear();
  for (const { id, restsMs } of await atRest(options, rows)) {
    if (wanted <= 0) return;
    const { state } = await options.sandboxes.load(id);
    if (state?.status !== 'ready') continue;
    if (!state.expiring) {
      const before = asked.get(id);
      if (before && nowMs < before.atMs + before.pauseMs) continue;
      const pauseMs = Math.min((before?.pauseMs ?? ASK_AGAIN_MS / 2) * 2, ASK_AGAIN_MS_MAX);
      asked.set(id, { atMs: nowMs, pauseMs });
      const minutes = Math.floor(restsMs / 60_000);
      const reason = `another session waits for its place: it was idle for longest (${minutes} min)`;
      await tell(options, id, { type: 'ExpireSandbox', data: { reason } });
    }
    wanted -= 1;
  }
}

/** Of those that nobody uses, the longest unused first. */
async function atRest(
  { presence, now }: ReaperOptions,
  rows: Row[],
): Promise<{ id: string; restsMs: number }[]> {
  const ready = rows.filter(({ status }) => status === 'ready');
  const uses = await presence.lastActive(ready.map(({ sandbox_id }) => sandbox_id));
  return ready
    .flatMap(({ sandbox_id: id, created_at }) => {
      const use = uses.get(id);
      const restsMs = now().getTime() - (use?.at ?? created_at).getTime();
      return use?.held || restsMs < ACTIVE_SECONDS * 1000 ? [] : [{ id, restsMs }];
    })
    .toSorted((a, b) => b.restsMs - a.restsMs);
}

async function tell(
  { sandboxes, now }: ReaperOptions,
  id: string,
  command: Omit<SandboxCommand, 'now'>,
): Promise<void> {
  const full = { ...command, now: now().toISOString() } as SandboxCommand;
  const meta = { actor: 'service:reaper', cause: null, correlation: id };
  await sandboxes.execute(id, full, { meta });
}

async function removeOrphan(
  { driver, sandboxes, now }: ReaperOptions,
  id: string,
  createdAt: Date,
): Promise<void> {
  if (now().getTime() - createdAt.getTime() < ORPHAN_SECONDS_MIN * 1000) return;
  const { state } = await sandboxes.load(id);
  const owned = state && state.status !== 'destroyed' && state.status !== 'failed';
  if (owned) throw new HangarError('internal', `${id} is in the log but not in its index`);
  await driver.destroy(id);
}
