import type { SessionDocument, SessionStateName, TurnDocument } from '@hangar/contracts';

/** What a state is called, and the colour of its dot; the word is always there. */
export const STATES: Record<SessionStateName, { word: string; color: string }> = {
  STARTING: { word: 'Starting', color: 'blue' },
  RESUMING: { word: 'Resuming', color: 'blue' },
  IDLE: { word: 'Idle', color: 'teal' },
  ACTIVE: { word: 'Active', color: 'indigo' },
  SUSPENDING: { word: 'Suspending', color: 'blue' },
  SUSPENDED: { word: 'Suspended', color: 'gray' },
  INTERRUPTED: { word: 'Interrupted', color: 'orange' },
  ARCHIVED: { word: 'Archived', color: 'gray' },
  FAILED: { word: 'Failed', color: 'red' },
};

/** What a turn came to. */
export const OUTCOMES: Record<string, { word: string; color: string }> = {
  succeeded: { word: 'Done', color: 'teal' },
  failed: { word: 'Failed', color: 'red' },
  cancelled: { word: 'Stopped', color: 'gray' },
  interrupted: { word: 'Interrupted', color: 'orange' },
  timed_out: { word: 'Out of time', color: 'orange' },
  deferred: { word: 'Waits for an answer', color: 'yellow' },
};

export const runningTurn = (session: Pick<SessionDocument, 'turns'>): TurnDocument | null =>
  session.turns.findLast(({ finished_at }) => finished_at === null) ?? null;

export const titleOf = ({ title, name }: { title: string; name: string }): string => title || name;

/** What becomes of the next message: the label of the button, and what to expect. */
export interface Sending {
  label: string;
  hint: string;
  isPossible: boolean;
}

const sending = (label: string, hint: string): Sending => ({ label, hint, isPossible: true });

export function sendingTo(
  session: Pick<SessionDocument, 'state' | 'turns' | 'queue' | 'limits' | 'talk'>,
  steers: boolean | null,
): Sending {
  if (session.queue.length >= session.limits.messages_queued)
    return {
      label: 'Send',
      hint: `The queue is full (${session.limits.messages_queued}). Take one back, or wait.`,
      isPossible: false,
    };
  switch (session.state) {
    case 'ACTIVE':
      if (runningTurn(session) === null)
        return sending('Queue', 'The last turn is being saved. Starts a turn right after it.');
      return whileItWorks(steers);
    case 'SUSPENDED':
      return sending('Resume and send', 'Resumes the session from its last checkpoint first.');
    case 'FAILED':
      return sending('Open and send', 'Opens the session again first.');
    case 'STARTING':
    case 'RESUMING':
    case 'SUSPENDING':
      return sending('Queue', 'The sandbox comes or goes. Starts a turn when it is ready.');
    case 'INTERRUPTED':
      return sending('Queue', 'Waits until you retry or continue the interrupted turn.');
    case 'ARCHIVED':
      return {
        label: 'Send',
        hint: 'Archived: its record is kept, and nothing runs in it.',
        isPossible: false,
      };
    case 'IDLE':
      return session.talk === null
        ? sending('Send', 'Starts a turn.')
        : sending('Queue', 'Waits until the talk with the agent in a terminal ends.');
  }
}

function whileItWorks(steers: boolean | null): Sending {
  if (steers === null)
    return sending(
      'Send',
      'The agent is working. Steers it where it can, else starts the next turn.',
    );
  return steers
    ? sending('Steer', 'The agent is working. Applies after its current tool call.')
    : sending('Queue', 'This agent takes no message in mid-turn. Waits for the next turn.');
}

/** Why nobody can talk with the agent in a terminal now; null when one can. */
export function talkBlockedBy(
  session: Pick<SessionDocument, 'state' | 'turns' | 'talk'>,
): string | null {
  if (session.talk !== null) return 'Somebody talks with it already.';
  if (session.state === 'IDLE') return null;
  return session.state === 'ACTIVE' ? 'A turn is running.' : 'Resume the session first.';
}
