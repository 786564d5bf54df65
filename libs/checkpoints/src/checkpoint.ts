import type { CheckpointEvent, CheckpointEvents, CheckpointPart } from '@hangar/contracts';

export type CheckpointRequest = CheckpointEvents['CheckpointRequested'];

/** One saved state of a session, from the request to the deletion of its blobs. */
export interface Checkpoint {
  id: string;
  session_id: string;
  request: CheckpointRequest | null;
  status: 'requested' | 'taken' | 'skipped' | 'failed' | 'dropped' | 'unknown';
  /** Why its blobs went, once it was dropped. */
  drop_reason: string | null;
  complete: boolean;
  parts: CheckpointPart[];
  /** Restores by the epoch of the sandbox that they were for. */
  restores: Record<string, 'requested' | 'restored' | 'failed'>;
}

export type CheckpointState = Checkpoint | null;

export const initialState: CheckpointState = null;

const blank = (id: string, sessionId: string): Checkpoint => ({
  id,
  session_id: sessionId,
  request: null,
  status: 'unknown',
  drop_reason: null,
  complete: false,
  parts: [],
  restores: {},
});

export function evolve(state: CheckpointState, event: CheckpointEvent): CheckpointState {
  const { checkpoint_id, session_id } = event.data;
  const s = state ?? blank(checkpoint_id, session_id);
  switch (event.type) {
    case 'CheckpointRequested':
      return { ...s, request: event.data, status: 'requested' };
    case 'CheckpointTaken':
      return { ...s, status: 'taken', complete: event.data.complete, parts: event.data.parts };
    case 'CheckpointSkipped':
      return { ...s, status: 'skipped' };
    case 'CheckpointFailed':
      return { ...s, status: 'failed' };
    case 'CheckpointDropped':
      return { ...s, status: 'dropped', drop_reason: event.data.reason };
    case 'CheckpointRestoreRequested':
      return withRestore(s, event.data.epoch, 'requested');
    case 'CheckpointRestored':
      return withRestore(s, event.data.epoch, 'restored');
    case 'CheckpointRestoreFailed':
      return withRestore(s, event.data.epoch, 'failed');
  }
}

function withRestore(
  s: Checkpoint,
  epoch: number,
  result: 'requested' | 'restored' | 'failed',
): Checkpoint {
  return { ...s, restores: { ...s.restores, [epoch]: result } };
}
