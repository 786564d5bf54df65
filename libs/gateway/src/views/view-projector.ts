import { HangarError } from '@hangar/contracts';
import {
  createProjector,
  type Projector,
  type RecordedEvent,
  type Transaction,
  type Upcast,
  type Wake,
} from '@hangar/messaging';
import { inTransaction } from '@hangar/messaging/postgres';
import type pg from 'pg';
import { project } from './project.ts';
import { VIEW_FOLD, VIEW_SCHEMA, VIEW_SCHEMA_NEXT, viewTablesSql } from './view-tables.ts';
import { writeChanges } from './view-writer.ts';

export const PROJECTION_NAME = 'gateway-views';

const STATE = 'select state from es.projection where name = $1 and fold = $2';
const NEWEST = 'select max(fold) as fold from es.projection where name = $1';
const RESTART = `update es.projection set state = 'rebuilding', fence = '0', position = 0
  where name = $1 and fold = $2`;

export interface ViewProjectorOptions {
  pool: pg.Pool;
  wake: Wake;
  upcast?: Upcast;
  onError?(error: unknown): void;
}

/** Follows the log into the read models; every replica may run it. */
export function createViewProjector(options: ViewProjectorOptions): Projector {
  return createProjector({
    ...options,
    name: PROJECTION_NAME,
    fold: VIEW_FOLD,
    prepare: prepareNext,
    apply: applyEvents,
    activate: switchOver,
  });
}

async function prepareNext(tx: Transaction): Promise<void> {
  const [row] = (await tx.query<{ fold: number }>(NEWEST, [PROJECTION_NAME])).rows;
  if (row && row.fold > VIEW_FOLD) {
    throw new HangarError('unavailable', 'the read models belong to a newer program', {
      hint: 'Wait until the roll-out is complete; this replica is one of the old ones.',
    });
  }
  await tx.query(`drop schema if exists ${VIEW_SCHEMA_NEXT} cascade`);
  await tx.query(viewTablesSql(VIEW_SCHEMA_NEXT));
}

async function applyEvents(events: RecordedEvent[], tx: Transaction): Promise<void> {
  const [row] = (await tx.query<{ state: string }>(STATE, [PROJECTION_NAME, VIEW_FOLD])).rows;
  const schema = row?.state === 'live' ? VIEW_SCHEMA : VIEW_SCHEMA_NEXT;
  for (const event of events) await writeChanges(tx, schema, project(event));
}

async function switchOver(tx: Transaction): Promise<void> {
  await tx.query(`drop schema if exists ${VIEW_SCHEMA} cascade`);
  await tx.query(`alter schema ${VIEW_SCHEMA_NEXT} rename to ${VIEW_SCHEMA}`);
}

/**
 * Makes every read model anew from the log [L1]: readers see the old ones, standing still, until
 * the new ones have caught up and take their place in one transaction.
 */
export async function rebuildViews(options: ViewProjectorOptions): Promise<void> {
  await inTransaction(options.pool, async (tx) => {
    await tx.query(RESTART, [PROJECTION_NAME, VIEW_FOLD]);
    await prepareNext(tx);
  });
  const projector = createViewProjector(options);
  projector.start();
  try {
    await projector.caughtUp();
  } finally {
    await projector.stop();
  }
}
