import type {
  CheckpointEvent,
  CheckpointEvents,
  Continuity,
  SandboxPlace,
} from '@hangar/contracts';
import type { CheckpointRequest, CheckpointState } from './checkpoint.ts';

type Outcome<K extends 'CheckpointTaken' | 'CheckpointSkipped' | 'CheckpointFailed'> = Omit<
  CheckpointEvents[K],
  'checkpoint_id' | 'session_id' | 'epoch' | 'reason' | 'turn'
>;

export interface CheckpointCommands {
  TakeCheckpoint: CheckpointRequest;
  MarkTaken: Outcome<'CheckpointTaken'>;
  MarkSkipped: Outcome<'CheckpointSkipped'>;
  MarkFailed: Outcome<'CheckpointFailed'>;
  RestoreCheckpoint: {
    checkpoint_id: string;
    session_id: string;
    epoch: number;
    place: SandboxPlace;
    harness: string;
  };
  MarkRestored: { epoch: number; continuity: Continuity };
  MarkRestoreFailed: { epoch: number; code: string; error: string };
  DropCheckpoint: { checkpoint_id: string; session_id: string; reason: string };
}

export type CheckpointCommand = {
  [K in keyof CheckpointCommands]: { type: K; data: CheckpointCommands[K]; now: string };
}[keyof CheckpointCommands];

/** What no longer applies is quiet: an outcome is recorded once, and a drop is for good. */
export function decide(s: CheckpointState, command: CheckpointCommand): CheckpointEvent[] {
  switch (command.type) {
    case 'TakeCheckpoint':
      return s ? [] : [{ type: 'CheckpointRequested', data: command.data }];
    case 'RestoreCheckpoint':
      return restore(s, command.data);
    case 'DropCheckpoint':
      if (s?.status === 'dropped') return [];
      return [{ type: 'CheckpointDropped', data: command.data }];
    case 'MarkTaken':
      return outcome(s, (about) => ({
        type: 'CheckpointTaken',
        data: { ...about, ...command.data },
      }));
    case 'MarkSkipped':
      return outcome(s, (about) => ({
        type: 'CheckpointSkipped',
        data: { ...about, ...command.data },
      }));
    case 'MarkFailed':
      return outcome(s, (about) => ({
        type: 'CheckpointFailed',
        data: { ...about, ...command.data },
      }));
    case 'MarkRestored':
      return restored(s, command.data.epoch, (about) => ({
        type: 'CheckpointRestored',
        data: { ...about, continuity: command.data.continuity },
      }));
    case 'MarkRestoreFailed': {
      const { code, error } = command.data;
      return restored(s, command.data.epoch, (about) => ({
        type: 'CheckpointRestoreFailed',
        data: { ...about, code, error },
      }));
    }
  }
}

type About = Pick<CheckpointRequest, 'checkpoint_id' | 'session_id' | 'epoch' | 'reason' | 'turn'>;

function outcome(s: CheckpointState, event: (about: About) => CheckpointEvent): CheckpointEvent[] {
  if (s?.status !== 'requested' || !s.request) return [];
  const { checkpoint_id, session_id, epoch, reason, turn } = s.request;
  return [event({ checkpoint_id, session_id, epoch, reason, turn })];
}

function restore(
  s: CheckpointState,
  d: CheckpointCommands['RestoreCheckpoint'],
): CheckpointEvent[] {
  if (s?.restores[d.epoch]) return [];
  if (s?.status === 'taken') return [{ type: 'CheckpointRestoreRequested', data: d }];
  const { checkpoint_id, session_id, epoch } = d;
  const error = `checkpoint ${checkpoint_id} is ${s ? s.status : 'unknown'}`;
  return [
    {
      type: 'CheckpointRestoreFailed',
      data: { checkpoint_id, session_id, epoch, code: 'missing', error },
    },
  ];
}

function restored(
  s: CheckpointState,
  epoch: number,
  event: (about: { checkpoint_id: string; session_id: string; epoch: number }) => CheckpointEvent,
): CheckpointEvent[] {
  if (s?.restores[epoch] !== 'requested') return [];
  return [event({ checkpoint_id: s.id, session_id: s.session_id, epoch })];
}
