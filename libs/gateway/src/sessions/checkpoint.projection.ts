import type { SessionEvent } from '@hangar/contracts';
import type { ViewChange } from '../views/view-change.ts';
import type { SessionChange } from './session.projection.ts';

type Named<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;
type CheckpointEvent = Named<
  | 'CheckpointDue'
  | 'CheckpointRecorded'
  | 'CheckpointStillGood'
  | 'CheckpointMissed'
  | 'CheckpointsDropped'
>;

export function projectCheckpoint(session_id: string, event: CheckpointEvent): SessionChange {
  switch (event.type) {
    case 'CheckpointDue':
      return { session: { checkpointing: event.data.checkpoint_id } };
    case 'CheckpointRecorded':
      return { session: {}, others: recorded(session_id, event) };
    case 'CheckpointStillGood': {
      const { checkpoint_id: id, turn } = event.data;
      // It stands for this turn's end too: a resume from it is not older than the turn.
      const stands: ViewChange = {
        op: 'set',
        table: 'checkpoint_view',
        where: { session_id, id },
        row: { turn },
      };
      return { session: { checkpointing: null }, others: [stands, ...turnOf(session_id, event)] };
    }
    case 'CheckpointMissed':
      return { session: {}, others: [settled(session_id, event.data.checkpoint_id)] };
    case 'CheckpointsDropped': {
      const where = { session_id, id: event.data.checkpoint_ids };
      return { session: {}, others: [{ op: 'drop', table: 'checkpoint_view', where }] };
    }
  }
}

/** A late one does not end the one that is being taken. */
const settled = (id: string, checkpointing: string): ViewChange => ({
  op: 'set',
  table: 'session_view',
  where: { id, checkpointing },
  row: { checkpointing: null },
});

function recorded(session_id: string, event: Named<'CheckpointRecorded'>): ViewChange[] {
  const d = event.data;
  const row = {
    session_id,
    id: d.checkpoint_id,
    // Counted when they are asked for: one that comes late stands where it belongs.
    ordinal: Number(d.checkpoint_id.split('-')[2]),
    reason: d.reason,
    turn: d.turn,
    taken_at: d.taken_at,
    complete: d.complete,
    head: d.head ?? null,
    base: d.base ?? null,
    bytes: d.bytes,
    parts: d.parts,
    skipped: d.skipped,
    warnings: d.warnings,
  };
  return [
    { op: 'add', table: 'checkpoint_view', row },
    settled(session_id, d.checkpoint_id),
    ...turnOf(session_id, event),
  ];
}

/** The turn whose work the checkpoint holds. */
function turnOf(
  session_id: string,
  { data }: Named<'CheckpointRecorded' | 'CheckpointStillGood'>,
): ViewChange[] {
  if (data.reason !== 'turn') return [];
  const where = { session_id, number: data.turn };
  return [{ op: 'set', table: 'turn_view', where, row: { checkpoint_id: data.checkpoint_id } }];
}
