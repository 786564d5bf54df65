import { HangarError, type SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import type { Session } from '../session.ts';
import { ended } from './lifecycle.ts';
import { always, inOrder, type Step } from './steps.ts';
import { suspend } from './suspend.ts';

/**
 * Another model, or another harness, from the next turn on [H3]. A harness comes with the sandbox:
 * where one is up, its work is saved and the next message has a fresh one with the other harness.
 */
export function changeHarness(
  s: Session,
  { data, now }: CommandOf<'ChangeHarness'>,
): SessionEvent[] {
  if (s.phase.state === 'ARCHIVED' || s.phase.state === 'DELETED') throw ended(s);
  if (s.harness === data.harness && s.model === data.model) return [];
  const changed: SessionEvent = {
    type: 'HarnessChanged',
    data: { harness: data.harness, ...(data.model === null ? {} : { model: data.model }) },
  };
  if (s.harness === data.harness) return [changed];
  return inOrder(s, mayChange, always(changed), letGo(data.harness, now));
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
    if (s.phase.state !== 'IDLE') return [];
    const reason = `the next turn is with ${harness}`;
    return suspend(s, { reason, automatic: false, force: false }, now);
  };
