import { HangarError, type SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import type { Session } from '../session.ts';
import { ended, refuseWhileTalking } from './lifecycle.ts';
import { always, forHarness, inOrder, suspend, type Step } from './steps.ts';
import { endLimit } from './usage-limit.ts';

/**
 * Another model, or another harness, from the next turn on [H3]. A harness comes with the sandbox:
 * where one is up, its work is saved, with the conversation of the harness that it has, and the next
 * message has a fresh one with the other harness.
 */
export function changeHarness(
  s: Session,
  { data, now }: CommandOf<'ChangeHarness'>,
): SessionEvent[] {
  if (s.phase.state === 'ARCHIVED' || s.phase.state === 'DELETED') throw ended(s);
  if (s.harness === data.harness && s.model === data.model) return [];
  const changed: SessionEvent = {
    type: 'HarnessChanged',
    data: {
      harness: data.harness,
      ...(data.model === null ? {} : { model: data.model }),
      ...conversationWith(s, data.harness),
    },
  };
  if (s.harness === data.harness) return [changed];
  return inOrder(
    s,
    mayChange,
    (before) => {
      refuseWhileTalking(before, 'change the harness');
      return [];
    },
    letGo(data.harness, now),
    always(changed),
    // It is the other provider's limit.
    endLimit('another harness goes on', now),
  );
}

/** Changed back before a turn began, the conversation is what it was. */
function conversationWith(
  s: Session,
  harness: string,
): { harness_session?: string; conversation: string } {
  const from = s.harness === harness ? s : s.left?.harness === harness ? s.left : null;
  if (!from?.harness_session) return { conversation: from?.conversation ?? 'none' };
  return { harness_session: from.harness_session, conversation: from.conversation };
}

const mayChange: Step = ({ phase }) => {
  if (phase.state === 'IDLE' || phase.state === 'SUSPENDED' || phase.state === 'FAILED') return [];
  throw new HangarError('conflict', `the session is ${phase.state}; its harness stays`, {
    hint:
      phase.state === 'INTERRUPTED'
        ? 'decide on the interrupted turn first: retry or continue'
        : 'change it when the turn is over and the session is IDLE or SUSPENDED',
  });
};

const letGo =
  (harness: string, now: string): Step =>
  (s) => {
    if (s.phase.state !== 'IDLE' || s.phase.sandbox.harness === harness) return [];
    return suspend(s, forHarness(harness), now);
  };
