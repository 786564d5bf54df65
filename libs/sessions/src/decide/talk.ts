import { HangarError, sessionPartId, type SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import { heldSandbox, isAsk, type Session } from '../session.ts';
import { ended } from './lifecycle.ts';
import { askToEnd } from './cut.ts';
import { always, checkpointDue, inOrder } from './steps.ts';

/**
 * A person talks with the agent itself [X8]: the one harness process that works on the session is
 * then the one in the terminal [M5]. It is refused wherever a turn is at work, or is due.
 */
export function startTalk(s: Session, { data, now }: CommandOf<'StartTalk'>): SessionEvent[] {
  if (s.phase.state === 'ARCHIVED' || s.phase.state === 'DELETED') throw ended(s);
  if (s.talk?.request_id === data.request_id) return [];
  const hold = heldSandbox(s);
  const refusal = whyNot(s, data.talks);
  if (refusal) throw refusal;
  if (!hold?.place || s.harness_session === null) throw new Error('an idle session has a sandbox');
  return [
    {
      type: 'TalkRequested',
      data: {
        session_id: s.id,
        terminal_id: sessionPartId('trm', s.id, s.talk_number + 1),
        epoch: hold.epoch,
        owner: s.owner,
        environment: s.environment,
        place: hold.place,
        harness: s.harness,
        ...(s.model === null ? {} : { model: s.model }),
        harness_session: s.harness_session,
        cols: data.cols,
        rows: data.rows,
        idle_minutes: s.idle_minutes,
        turn: s.turns.length,
        request_id: data.request_id,
        requested_at: now,
        permissions: s.permissions,
      },
    },
  ];
}

function whyNot(s: Session, talks: boolean): HangarError | null {
  const refuse = (message: string, hint: string): HangarError =>
    new HangarError('conflict', message, { hint });
  if (!talks)
    return refuse(`${s.harness} cannot be talked with in a terminal`, 'send it a message instead');
  if (s.phase.state === 'SUSPENDED' || s.phase.state === 'FAILED')
    return refuse(
      `the session is ${s.phase.state}: its agent has no computer`,
      'open it first (hangar session open), and talk when it is IDLE',
    );
  if (s.phase.state !== 'IDLE')
    return refuse(
      `the session is ${s.phase.state}: the agent is talked with between its turns`,
      'try again when it is IDLE; a message can be sent at any time',
    );
  if (s.talk)
    return refuse(
      `the agent is talked with already, in terminal ${s.talk.terminal_id}`,
      'attach to that one; several can look at it',
    );
  if (s.harness_session === null)
    return refuse('there is no conversation with the agent yet', 'send it a message first');
  if (s.phase.sandbox.harness !== s.harness)
    return refuse(
      `the sandbox has no ${s.harness}`,
      'send a message or suspend the session: then it gets another sandbox',
    );
  if (s.attention.some(isAsk))
    return refuse('the agent waits on an answer', 'answer its question first');
  if (s.queue.length > 0 && !s.limited)
    return refuse('a message waits for the agent', 'try again after its turn');
  return null;
}

/** Asks the agent to leave, once; what was said is kept. */
export function endTalk(s: Session, { data }: CommandOf<'EndTalk'>): SessionEvent[] {
  if (s.talk?.terminal_id !== data.terminal_id) return [];
  return askToEnd('ended by a person')(s);
}

/** What was said is saved before anything else happens [C2]. */
export function finishTalk(s: Session, { data, now }: CommandOf<'FinishTalk'>): SessionEvent[] {
  if (s.talk?.terminal_id !== data.terminal_id) return [];
  return inOrder(
    s,
    always({ type: 'TalkEnded', data: { ...data, ended_at: now } }),
    checkpointDue('talk', now),
  );
}
