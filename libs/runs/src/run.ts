import type { Answer, RunEvent, RunEvents } from '@hangar/contracts';

export type RunRequest = RunEvents['RunRequested'];

/** One process execution of a harness for a turn. */
export interface Run {
  request: RunRequest;
  status: 'requested' | 'started' | 'ended';
  delivered: boolean;
  /** Messages for the running turn, in the order in which they came [M3]. */
  messages: {
    message_id: string;
    text: string;
    state: 'offered' | 'delivered' | 'returned';
    /** Also of one that is settled: who reads the run's output again has to say it again. */
    wanted_back: boolean;
  }[];
  asks: { id: string; open: boolean; answer: Answer | null }[];
  /** Ids of tool calls whose decision is recorded. */
  decided: string[];
  /** Why it shall end on what it asks, once somebody said so [A2]. */
  deferring: string | null;
  /** Why it shall stop, once somebody said so. */
  cancelling: string | null;
  /** From here the turn's time limit counts, also over a restart: later by each wait on a person. */
  counts_from: string | null;
  /** Since when a person is waited on. */
  waits_from: string | null;
}

export type RunState = Run | null;

export const initialState: RunState = null;

export function evolve(state: RunState, event: RunEvent): RunState {
  if (event.type === 'RunRequested')
    return {
      request: event.data,
      status: 'requested',
      delivered: false,
      messages: [],
      asks: [],
      decided: [],
      deferring: null,
      cancelling: null,
      counts_from: null,
      waits_from: null,
    };
  if (!state) throw new Error(`${event.type} before RunRequested: the log is broken`);
  switch (event.type) {
    case 'RunStarted':
      return { ...state, status: 'started', counts_from: event.data.started_at };
    case 'RunMessageDelivered':
      return event.data.message_id === state.request.message_id
        ? { ...state, delivered: true }
        : messageIs(state, event.data.message_id, { state: 'delivered' });
    case 'RunSteerRequested': {
      const { message_id, text } = event.data;
      const offered = { message_id, text, state: 'offered', wanted_back: false } as const;
      return { ...state, messages: [...state.messages, offered] };
    }
    case 'RunWithdrawRequested':
      return messageIs(state, event.data.message_id, { wanted_back: true });
    case 'RunMessageReturned':
      return messageIs(state, event.data.message_id, { state: 'returned' });
    case 'RunAsked':
      return {
        ...state,
        asks: [...state.asks, { id: event.data.ask.id, open: true, answer: null }],
        waits_from: state.waits_from ?? event.data.asked_at,
      };
    case 'RunAnswerGiven':
      return askIs(state, event.data.ask_id, { answer: event.data.answer });
    case 'RunAskClosed':
      return counted(askIs(state, event.data.ask_id, { open: false }), event.data.closed_at);
    case 'RunDeferRequested':
      return { ...state, deferring: event.data.reason };
    case 'RunToolDecided':
      if (state.decided.length >= DECIDED_MAX) return state;
      return { ...state, decided: [...state.decided, event.data.call_id] };
    case 'RunCancelRequested':
      return { ...state, cancelling: event.data.reason };
    case 'RunFinished':
    case 'RunFailed':
      return { ...state, status: 'ended' };
  }
}

/** Tool calls of one run that are remembered; a later one is on record twice if it is read twice. */
const DECIDED_MAX = 10_000;

const messageIs = (
  run: Run,
  message_id: string,
  change: Partial<Run['messages'][number]>,
): Run => ({
  ...run,
  messages: run.messages.map((m) => (m.message_id === message_id ? { ...m, ...change } : m)),
});

/** Once nobody is waited on, the limit counts on from where it was. */
function counted(run: Run, now: string): Run {
  const { counts_from, waits_from } = run;
  if (counts_from === null || waits_from === null || run.asks.some(({ open }) => open)) return run;
  const waitedMs = Date.parse(now) - Date.parse(waits_from);
  const from = new Date(Date.parse(counts_from) + waitedMs).toISOString();
  return { ...run, counts_from: from, waits_from: null };
}

const askIs = (run: Run, id: string, change: Partial<Run['asks'][number]>): Run => ({
  ...run,
  asks: run.asks.map((ask) => (ask.id === id ? { ...ask, ...change } : ask)),
});
