import type { AnyEvent, TerminalEvents } from '@hangar/contracts';
import type { SessionCommand, SessionCommands } from './session.commands.ts';

/** What other aggregates told, as commands on the session they belong to. */
export interface PolicyStep {
  session_id: string;
  command: SessionCommand;
}

export function sessionPolicy(event: AnyEvent, now: string): PolicyStep[] {
  const command = translate(event, now);
  if (!command) return [];
  const { session_id } = event.data as { session_id?: string };
  return session_id ? [{ session_id, command }] : [];
}

function translate(event: AnyEvent, now: string): SessionCommand | null {
  switch (event.type) {
    case 'SandboxProgressed': {
      const { sandbox_id, phase, text } = event.data;
      return { type: 'NoteStartPhase', now, data: { sandbox_id, phase, text } };
    }
    case 'SandboxReady': {
      const { sandbox_id, place } = event.data;
      return { type: 'AttachSandbox', now, data: { sandbox_id, place } };
    }
    case 'SandboxFailed': {
      const { sandbox_id, phase, reason } = event.data;
      return { type: 'FailStart', now, data: { sandbox_id, phase, reason } };
    }
    case 'SandboxExpiring': {
      const { sandbox_id, busy = false, reason } = event.data;
      return { type: 'KeepOrSuspend', now, data: { sandbox_id, busy, reason } };
    }
    case 'SandboxDestroyed': {
      const { sandbox_id, cause } = event.data;
      return { type: 'FinishRelease', now, data: { sandbox_id, cause } };
    }
    case 'SandboxLost': {
      const { sandbox_id, reason } = event.data;
      return { type: 'LoseSandbox', now, data: { sandbox_id, reason } };
    }
    case 'RunStarted': {
      const { run_id, turn } = event.data;
      return { type: 'NoteTurnStarted', now, data: { run_id, turn } };
    }
    case 'RunMessageDelivered': {
      const { run_id, turn, message_id } = event.data;
      return { type: 'NoteDelivery', now, data: { run_id, turn, message_id } };
    }
    case 'RunMessageReturned': {
      const { run_id, turn, message_id } = event.data;
      return { type: 'ReturnMessage', now, data: { run_id, turn, message_id } };
    }
    case 'RunAsked': {
      const { run_id, turn, ask } = event.data;
      return { type: 'RaiseAsk', now, data: { run_id, turn, ask } };
    }
    case 'RunAskClosed': {
      const { run_id, turn, ask_id } = event.data;
      return { type: 'CloseAsk', now, data: { run_id, turn, ask_id } };
    }
    case 'RunFinished': {
      const {
        session_id: _session,
        epoch: _epoch,
        error_kind: _kind,
        finished_at: _at,
        ...data
      } = event.data;
      return { type: 'FinishTurn', now, data };
    }
    case 'RunFailed': {
      const { run_id, turn, reason, sandbox_gone } = event.data;
      return {
        type: 'LoseTurn',
        now,
        data: { run_id, turn, reason, sandbox_gone, is_silent: false },
      };
    }
    case 'TerminalEnded':
      return { type: 'FinishTalk', now, data: endOf(event.data) };
    case 'CheckpointTaken': {
      const { session_id: _session, ...data } = event.data;
      return { type: 'RecordCheckpoint', now, data };
    }
    case 'CheckpointSkipped': {
      const { checkpoint_id, same_as, reason, turn } = event.data;
      return { type: 'NoteUnchanged', now, data: { checkpoint_id, same_as, reason, turn } };
    }
    case 'CheckpointFailed': {
      const { checkpoint_id, reason, error } = event.data;
      return { type: 'MissCheckpoint', now, data: { checkpoint_id, reason, error } };
    }
    case 'CheckpointRestored': {
      const { checkpoint_id, epoch, continuity } = event.data;
      return { type: 'FinishRestore', now, data: { checkpoint_id, epoch, continuity } };
    }
    case 'CheckpointRestoreFailed': {
      const { checkpoint_id, epoch, error } = event.data;
      return { type: 'TryOlderCheckpoint', now, data: { checkpoint_id, epoch, error } };
    }
    default:
      return null;
  }
}

const endOf = ({
  terminal_id,
  reason,
  exit_code,
}: TerminalEvents['TerminalEnded']): SessionCommands['FinishTalk'] => ({
  terminal_id,
  reason,
  ...(exit_code === undefined ? {} : { exit_code }),
});
