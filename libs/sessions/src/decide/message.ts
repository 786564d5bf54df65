import { HangarError, MESSAGES_QUEUED_MAX, type SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import { inFlightMessage, turnOf, type Session } from '../session.ts';
import { askToEnd, cancelTurn } from './cut.ts';
import { ended } from './lifecycle.ts';
import { dropLimited, endLimit, queueAgain } from './usage-limit.ts';
import { always, clearCards, inOrder, resume, turnOrIdle, type Step } from './steps.ts';

/** Accepted in every live state, and at once; what it starts follows from the state [M1]. */
export function sendMessage(s: Session, { data, now }: CommandOf<'SendMessage'>): SessionEvent[] {
  const { phase } = s;
  if (phase.state === 'ARCHIVED' || phase.state === 'DELETED') throw ended(s);
  const known =
    s.queue.some((m) => m.message_id === data.message_id) ||
    s.taken_back.includes(data.message_id) ||
    s.delivered.includes(data.message_id) ||
    s.turns.some((t) => t.message_id === data.message_id);
  if (known) return [];
  if (s.queue.length >= MESSAGES_QUEUED_MAX)
    throw new HangarError(
      'exhausted',
      `${MESSAGES_QUEUED_MAX} messages already wait in this session; this one was not taken`,
      { hint: 'send it when some of them have been worked on, or take one back' },
    );
  const { steers, ...message } = data;
  const queued: SessionEvent = { type: 'MessageQueued', data: { ...message, queued_at: now } };
  return inOrder(s, always(queued), wake(data.mode, now), steers ? steer(data) : () => []);
}

const wake =
  (mode: string, now: string): Step =>
  (s) => {
    const { phase } = s;
    // Nothing is asked of a provider that takes nothing: it waits with the turn before it [M7].
    if (s.limited && phase.state !== 'ACTIVE') return [];
    switch (phase.state) {
      case 'IDLE':
        if (s.talk) return mode === 'interrupt' ? askToEnd('interrupted by a message')(s) : [];
        return s.checkpointing ? [] : turnOrIdle('a message arrived', now)(s);
      case 'SUSPENDED':
      case 'FAILED':
        return resume('a message arrived', now)(s);
      case 'ACTIVE':
        return mode === 'interrupt' ? cancelTurn(s, 'interrupted by a message', now) : [];
      default:
        return [];
    }
  };

/**
 * Offers the message to the turn that runs [M3]. `auto` keeps the order: behind a message that waits
 * for its turn it waits too.
 */
const steer =
  ({ message_id, text, mode }: CommandOf<'SendMessage'>['data']): Step =>
  (s) => {
    const { phase } = s;
    if (phase.state !== 'ACTIVE' || (phase.step !== 'requested' && phase.step !== 'running'))
      return [];
    const inFlight = inFlightMessage(s);
    // The turn began with it.
    if (inFlight === message_id) return [];
    const isBehind = s.queue.some(
      (m) => m.message_id !== message_id && m.message_id !== inFlight && !m.offered,
    );
    if (mode !== 'steer' && (mode !== 'auto' || isBehind)) return [];
    const { turn } = phase;
    const run_id = turnOf(s, turn)?.run_id ?? '';
    return [{ type: 'SteerRequested', data: { session_id: s.id, message_id, text, turn, run_id } }];
  };

/**
 * Exactly one of delivered and taken back happens [M4]: a message in flight is no longer ours. One
 * that was offered to the running turn is asked back, and the harness says which it is.
 */
export function takeBackMessage(
  s: Session,
  { data }: CommandOf<'TakeBackMessage'>,
): SessionEvent[] {
  const id = data.message_id;
  if (s.phase.state === 'ARCHIVED' || s.phase.state === 'DELETED') throw ended(s);
  if (s.taken_back.includes(id)) return [];
  if (inFlightMessage(s) === id || s.turns.some((t) => t.message_id === id)) throw tooLate();
  const message = s.queue.find((m) => m.message_id === id);
  if (!message) {
    if (s.delivered.includes(id)) throw tooLate();
    throw new HangarError('not_found', `no message ${id} waits in this session`);
  }
  if (!message.offered) return [{ type: 'MessageTakenBack', data: { message_id: id } }];
  const { turn, wanted_back } = message.offered;
  if (wanted_back) return [];
  const run_id = turnOf(s, turn)?.run_id ?? '';
  return [{ type: 'TakeBackRequested', data: { session_id: s.id, message_id: id, turn, run_id } }];
}

const tooLate = (): HangarError =>
  new HangarError('conflict', 'the agent has this message, or is being given it', {
    hint: 'interrupt the turn to stop the work on it',
  });

/** Stops the running turn and keeps its work; the queue stays [M4] [M8]. */
export function interruptTurn(s: Session, { now }: CommandOf<'InterruptTurn'>): SessionEvent[] {
  if (s.phase.state === 'ARCHIVED' || s.phase.state === 'DELETED') throw ended(s);
  if (s.talk) return askToEnd('interrupted by a person')(s);
  if (s.phase.state !== 'ACTIVE')
    throw new HangarError('conflict', `no turn is running: the session is ${s.phase.state}`, {
      hint: 'there is nothing to interrupt',
    });
  return cancelTurn(s, 'interrupted by a person', now);
}

function interruptedTurn(s: Session): number {
  if (s.phase.state === 'ARCHIVED' || s.phase.state === 'DELETED') throw ended(s);
  if (s.phase.state !== 'INTERRUPTED')
    throw new HangarError('conflict', `the session is ${s.phase.state}, not INTERRUPTED`, {
      hint: 'retry and continue decide on an interrupted turn; send a message instead',
    });
  return s.phase.turn;
}

const goOn =
  (now: string): Step =>
  (s) => {
    const sandboxHere = s.phase.state === 'INTERRUPTED' && s.phase.sandbox?.place;
    return sandboxHere ? turnOrIdle('continued', now)(s) : resume('resumed', now)(s);
  };

/** The same message again, as a new turn [S3]. */
export function retryTurn(s: Session, { now }: CommandOf<'RetryTurn'>): SessionEvent[] {
  if (s.limited) return endLimit('tried again before its time', now)(s);
  const turn = interruptedTurn(s);
  return inOrder(
    s,
    always({ type: 'InterruptionResolved', data: { turn, decision: 'retry' } }),
    queueAgain(turn, now),
    clearCards('interrupted', 'retried'),
    goOn(now),
  );
}

/** Without the interrupted message [S3]; what waits in the queue goes on. */
export function continueSession(s: Session, { now }: CommandOf<'ContinueSession'>): SessionEvent[] {
  if (s.limited) return dropLimited(s, s.limited.turn, now);
  const turn = interruptedTurn(s);
  return inOrder(
    s,
    always({ type: 'InterruptionResolved', data: { turn, decision: 'continue' } }),
    clearCards('interrupted', 'continued'),
    goOn(now),
  );
}
