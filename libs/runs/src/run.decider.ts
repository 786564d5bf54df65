import type { Answer, Ask, RunEvent, RunEvents } from '@hangar/contracts';
import type { Run, RunRequest, RunState } from './run.ts';

type About = 'run_id' | 'session_id' | 'turn' | 'epoch';

export interface RunCommands {
  StartRun: RunRequest;
  MarkStarted: { conversation: string };
  /** A message that the harness has; the run's own when it is not named. */
  MarkDelivered: { message_id?: string };
  MarkReturned: { message_id: string };
  SteerRun: { message_id: string; text: string };
  WithdrawMessage: { message_id: string };
  NoteAsk: { ask: Ask };
  CloseAsk: { ask_id: string };
  GiveAnswer: { ask_id: string; answer: Answer };
  DeferRun: { reason: string };
  NoteDecision: Omit<RunEvents['RunToolDecided'], About | 'decided_at'>;
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
  const about = aboutOf(s);
  const { run_id } = about;
  const { now } = command;
  switch (command.type) {
    case 'MarkStarted':
      if (s.status !== 'requested') return [];
      return [{ type: 'RunStarted', data: { ...about, ...command.data, started_at: now } }];
    case 'MarkDelivered':
    case 'MarkReturned':
    case 'SteerRun':
    case 'WithdrawMessage':
      return decideMessage(s, command);
    case 'NoteAsk':
    case 'CloseAsk':
    case 'GiveAnswer':
    case 'DeferRun':
      return decideAsk(s, command);
    case 'NoteDecision':
      if (s.decided.includes(command.data.call_id)) return [];
      return [{ type: 'RunToolDecided', data: { ...about, ...command.data, decided_at: now } }];
    case 'CancelRun':
      if (s.cancelling !== null) return [];
      return [{ type: 'RunCancelRequested', data: { run_id, reason: command.data.reason } }];
    case 'FinishRun':
      return [{ type: 'RunFinished', data: { ...about, ...command.data, finished_at: now } }];
    case 'FailRun':
      return [{ type: 'RunFailed', data: { ...about, ...command.data, failed_at: now } }];
  }
}

const aboutOf = ({ request }: Run): Pick<RunRequest, About> => {
  const { run_id, session_id, turn, epoch } = request;
  return { run_id, session_id, turn, epoch };
};

type Of<K extends keyof RunCommands> = Extract<RunCommand, { type: K }>;

/** Each message for the running turn is delivered or returned, once [M3]. */
function decideMessage(
  s: Run,
  command: Of<'MarkDelivered' | 'MarkReturned' | 'SteerRun' | 'WithdrawMessage'>,
): RunEvent[] {
  const { run_id, message_id: own } = s.request;
  const message_id = command.data.message_id ?? own;
  const known = s.messages.find((m) => m.message_id === message_id);
  switch (command.type) {
    case 'SteerRun':
      return known || message_id === own
        ? []
        : [{ type: 'RunSteerRequested', data: { run_id, ...command.data } }];
    case 'WithdrawMessage':
      if (known?.state !== 'offered' || known.wanted_back) return [];
      return [{ type: 'RunWithdrawRequested', data: { run_id, message_id } }];
    case 'MarkDelivered': {
      const isOwn = message_id === own && !s.delivered;
      if (!isOwn && known?.state !== 'offered') return [];
      return [{ type: 'RunMessageDelivered', data: { ...aboutOf(s), message_id } }];
    }
    case 'MarkReturned':
      if (known?.state !== 'offered') return [];
      return [{ type: 'RunMessageReturned', data: { ...aboutOf(s), message_id } }];
  }
}

/** An ask is open until it is closed; the first answer to it counts [A2]. */
function decideAsk(
  s: Run,
  command: Of<'NoteAsk' | 'CloseAsk' | 'GiveAnswer' | 'DeferRun'>,
): RunEvent[] {
  const about = aboutOf(s);
  const find = (id: string): Run['asks'][number] | undefined => s.asks.find((a) => a.id === id);
  switch (command.type) {
    case 'NoteAsk': {
      const { ask } = command.data;
      if (find(ask.id)) return [];
      return [{ type: 'RunAsked', data: { ...about, ask, asked_at: command.now } }];
    }
    case 'CloseAsk': {
      const { ask_id } = command.data;
      if (!find(ask_id)?.open) return [];
      return [{ type: 'RunAskClosed', data: { ...about, ask_id, closed_at: command.now } }];
    }
    case 'GiveAnswer': {
      const { ask_id } = command.data;
      const ask = find(ask_id);
      // A run that is told to defer ends on what it asked: its session passes the answer on [A2].
      if (!ask?.open || ask.answer || s.deferring !== null) return [];
      return [{ type: 'RunAnswerGiven', data: { run_id: about.run_id, ...command.data } }];
    }
    case 'DeferRun':
      if (s.deferring !== null) return [];
      return [
        { type: 'RunDeferRequested', data: { run_id: about.run_id, reason: command.data.reason } },
      ];
  }
}
