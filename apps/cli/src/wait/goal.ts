import type { EventDocument, SessionDocument } from '@hangar/contracts';
import { EXIT } from '../exit-codes.ts';
import { payloadOf } from './event-fields.ts';

/** How a wait ended. `turn`: the one it was about. */
export interface Verdict {
  reached: boolean;
  turn?: number;
  /** When not reached: what happened, and what to do next, with SESSION for its name. */
  what?: string;
  next?: string;
  /** Of a wait that was not reached; `failed` when left out. */
  exitCode?: number;
}

/** Judges the events of one session, in order; null until there is a verdict. */
export interface Goal {
  see(event: EventDocument): Verdict | null;
  /** What the session already is, before anything is followed. */
  already?(session: SessionDocument): Verdict | null;
}

const FAILED_NEXT = 'Run hangar session open SESSION to try again.';
const DECIDE_NEXT =
  'Decide: hangar session retry SESSION sends the same message again, ' +
  'hangar session continue SESSION goes on without it.';

/** What ends every wait for a session to work: it failed, was archived or deleted. */
function theEnd(event: EventDocument): Verdict | null {
  const failed = payloadOf(event, 'SessionFailed');
  if (failed) return { reached: false, what: `It failed: ${failed.reason}`, next: FAILED_NEXT };
  if (payloadOf(event, 'SessionArchived'))
    return { reached: false, what: 'It was archived meanwhile.', next: 'Start a new session.' };
  if (payloadOf(event, 'SessionDeleted'))
    return { reached: false, what: 'It was deleted meanwhile.', next: 'Start a new session.' };
  return null;
}

/** Each says by itself that the sandbox is there: a start is not followed by SessionIdled. */
const UP = ['SessionStarted', 'SessionResumed', 'SessionIdled', 'TurnRequested'];

/** The session has a sandbox and can work. */
export const sessionUp = (): Goal => ({
  already: ({ state }) => (state === 'IDLE' || state === 'ACTIVE' ? { reached: true } : null),
  see(event) {
    return UP.includes(event.type) ? { reached: true } : theEnd(event);
  },
});

/**
 * A turn that runs, the one that a message starts or joins, the next message queued in a mode, or
 * the turn that asked what was answered, or the one that goes on with the answer [A2].
 */
export type TurnGoal =
  | { turn: number }
  | { messageId: string }
  | { queuedAs: 'auto' | 'retry' }
  | { asking: number };

/** Answering goes first: nothing more comes of the turn until then, maybe for days [A2]. */
export const waitsOnPerson = (turn: number | null, text: string): Verdict => ({
  reached: false,
  ...(turn === null ? {} : { turn }),
  what: `The agent waits on you: ${text}`,
  next: 'Answer with hangar session answer SESSION.',
  exitCode: EXIT.stopped,
});

const AT_REST = ['SessionIdled', 'SessionSuspended', 'TurnRequested', 'SandboxReleased'];

/** The turn of a message has ended and its checkpoint is settled, whatever came of either. */
export function turnSettled(about: TurnGoal): Goal {
  let messageId = 'messageId' in about ? about.messageId : null;
  const isAnswer = 'asking' in about;
  let turn = 'turn' in about ? about.turn : isAnswer ? about.asking : null;
  let ended: Verdict | null = null;
  let failedReason: string | null = null;
  return {
    see(event) {
      const queued = payloadOf(event, 'MessageQueued');
      const isMeant = 'queuedAs' in about && queued?.mode === about.queuedAs;
      if (queued && (isMeant || (isAnswer && queued.mode === 'answer')))
        messageId ??= queued.message_id;
      const asked = payloadOf(event, 'TurnRequested') ?? payloadOf(event, 'MessageDelivered');
      if (asked && asked.message_id === messageId) turn = asked.turn;
      const back = payloadOf(event, 'MessageTakenBack');
      if (back && back.message_id === messageId)
        return { reached: false, what: 'The message was taken back.', next: 'Send another one.' };
      const failed = payloadOf(event, 'MessageFailed');
      if (failed && failed.message_id === messageId) failedReason = failed.reason;
      const raised = payloadOf(event, 'AttentionRaised');
      if (raised?.asked && raised.turn === turn) return waitsOnPerson(turn, raised.text);
      const finished = payloadOf(event, 'TurnFinished');
      // A turn that was deferred on what was answered goes on as the turn of the answer.
      if (finished?.outcome === 'deferred' && isAnswer && finished.turn === about.asking)
        return null;
      if (finished && finished.turn === turn) {
        ended = verdictOfTurn(finished.turn, finished.outcome, finished.error ?? failedReason);
        return null;
      }
      const cut = payloadOf(event, 'SessionInterrupted');
      if (cut && (turn === null || cut.turn === turn))
        return {
          reached: false,
          turn: cut.turn,
          what: `Interrupted: ${cut.reason}`,
          next: DECIDE_NEXT,
        };
      if (ended && (AT_REST.includes(event.type) || isTurnCheckpoint(event))) return settle(ended);
      return theEnd(event);
    },
  };

  /** A cut turn is followed by SessionInterrupted, which says more: that one is waited for. */
  function settle(verdict: Verdict): Verdict | null {
    return verdict.next === DECIDE_NEXT ? null : verdict;
  }
}

function isTurnCheckpoint(event: EventDocument): boolean {
  const settled =
    payloadOf(event, 'CheckpointRecorded') ??
    payloadOf(event, 'CheckpointStillGood') ??
    payloadOf(event, 'CheckpointMissed');
  return settled?.reason === 'turn';
}

const OUTCOME_NEXT: Record<string, string> = {
  failed:
    'Read hangar session get SESSION for the error, then send a message: the conversation goes on.',
  cancelled: 'Send a message: the conversation goes on from here.',
  timed_out: 'Send a message to go on, or give the environment a larger turn_minutes.',
  interrupted: DECIDE_NEXT,
};

const OUTCOME_TEXT: Record<string, string> = {
  failed: 'failed',
  timed_out: 'ran out of time',
};

function verdictOfTurn(turn: number, outcome: string, error: string | null): Verdict {
  if (outcome === 'succeeded') return { reached: true, turn };
  if (outcome === 'deferred') return waitsOnPerson(turn, `turn ${turn} ended on a question.`);
  const happened = OUTCOME_TEXT[outcome] ?? `was ${outcome}`;
  return {
    reached: false,
    turn,
    what: `Turn ${turn} ${happened}${error ? `: ${error}` : '.'}`,
    next: OUTCOME_NEXT[outcome] ?? 'Read hangar session get SESSION for more.',
  };
}

/** For `interrupt`: any end of that turn is what was asked for. */
export function turnEnded(turn: number): Goal {
  const settled = turnSettled({ turn });
  return {
    see(event) {
      // What it asks meanwhile is over with it.
      if (event.type === 'AttentionRaised') return null;
      const verdict = settled.see(event);
      return verdict?.turn === turn ? { reached: true, turn } : verdict;
    },
  };
}

export const suspended = (): Goal => ({
  already: ({ state }) => (state === 'SUSPENDED' ? { reached: true } : null),
  see(event) {
    if (event.type === 'SessionSuspended') return { reached: true };
    // An interrupted session stays that; its sandbox is what goes.
    if (event.type === 'SandboxReleased') return { reached: true };
    const aborted = payloadOf(event, 'SuspendAborted');
    if (aborted) {
      const next =
        'See what is not in the checkpoint (hangar checkpoint list SESSION), then use --force.';
      return { reached: false, what: `It was ${aborted.reason}`, next };
    }
    return theEnd(event);
  },
});

/** The decision is taken and the session is at work or at rest again. */
export const decided = (): Goal => ({
  see(event) {
    return event.type === 'InterruptionResolved' ? null : sessionUp().see(event);
  },
});

/** One checkpoint, taken for whatever reason from here on, is settled. */
export const checkpointSettled = (): Goal => ({
  see(event) {
    if (event.type === 'CheckpointRecorded' || event.type === 'CheckpointStillGood')
      return { reached: true };
    const missed = payloadOf(event, 'CheckpointMissed');
    if (missed) {
      const next = 'Read hangar session get SESSION: its attention says more; then take one again.';
      return { reached: false, what: `The checkpoint was not taken: ${missed.error}`, next };
    }
    return theEnd(event);
  },
});
