import type { SessionOutcome } from '@hangar/contracts';
import { z } from 'zod';
import { sessionField, waitField } from '../fields.ts';
import { answered } from '../session.answer.ts';
import { defineTool } from '../tool.ts';

export const resolveInterruption = defineTool({
  name: 'resolve_interruption',
  title: 'Resolve an interruption',
  description:
    'Decides how an INTERRUPTED session goes on, whose sandbox or agent was lost in mid-turn: ' +
    '"retry" runs the same message again (some of it may have been done already), "continue" goes ' +
    'on without it. Work up to the newest checkpoint is there either way. Refused in other states. ' +
    "Comes back when the session is at rest again, after a retry with the agent's answer.",
  scope: 'write',
  input: z.strictObject({
    session: sessionField,
    action: z.enum(['retry', 'continue']),
    wait_seconds: waitField,
  }),
  async run({ session, action, wait_seconds }, { sessions, caller, hold }) {
    const held = hold(wait_seconds);
    const answer =
      action === 'retry'
        ? await sessions.retry(caller, session, held)
        : await sessions.continue(caller, session, held);
    return answered(answer.body as SessionOutcome);
  },
});
