import type { RunEvent, RunEvents } from '@hangar/contracts';
import type { RunRequest, RunState } from './run.ts';

type About = 'run_id' | 'session_id' | 'turn' | 'epoch';

export interface RunCommands {
  StartRun: RunRequest;
  MarkStarted: { conversation: string };
  MarkDelivered: object;
  CancelRun: { reason: string };
  FinishRun: Omit<RunEvents['RunFinished'], About | 'finished_at'>;
  FailRun: Omit<RunEvents['RunFailed'], About | 'failed_at'>;
}

export type RunCommand = {
  [K in keyof RunCommands]: { type: K; data: RunCommands[K]; now: string };
}[keyof RunCommands];

/** A run starts once, is delivered once and ends once; anything after its end is quiet [M5]. */
export function decide(s: RunState, command: RunCommand): RunEvent[] {
  if (command.type === 'StartRun') return s ? [] : [{ type: 'RunRequested', data: command.data }];
  if (!s || s.status === 'ended') return [];
  const { run_id, session_id, turn, epoch, message_id } = s.request;
  const about = { run_id, session_id, turn, epoch };
  const { now } = command;
  switch (command.type) {
    case 'MarkStarted':
      if (s.status !== 'requested') return [];
      return [{ type: 'RunStarted', data: { ...about, ...command.data, started_at: now } }];
    case 'MarkDelivered':
      if (s.delivered) return [];
      return [{ type: 'RunMessageDelivered', data: { ...about, message_id } }];
    case 'CancelRun':
      if (s.cancelling !== null) return [];
      return [{ type: 'RunCancelRequested', data: { run_id, reason: command.data.reason } }];
    case 'FinishRun':
      return [{ type: 'RunFinished', data: { ...about, ...command.data, finished_at: now } }];
    case 'FailRun':
      return [{ type: 'RunFailed', data: { ...about, ...command.data, failed_at: now } }];
  }
}
