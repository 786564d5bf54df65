import type { SessionOutcome } from '@hangar/contracts';
import { z } from 'zod';
import { sessionField, waitField } from '../fields.ts';
import { answered } from '../session.answer.ts';
import { defineTool } from '../tool.ts';

export const interruptSession = defineTool({
  name: 'interrupt_session',
  title: 'Interrupt session',
  description:
    'Stops the turn that runs, and keeps its work, the conversation and the waiting messages. ' +
    'Refused when no turn runs. To stop it and say something else at once, use send_to_session ' +
    'with mode "interrupt" instead. Comes back when the turn is over and saved.',
  scope: 'write',
  input: z.strictObject({ session: sessionField, wait_seconds: waitField }),
  async run({ session, wait_seconds }, { sessions, caller, hold }) {
    const answer = await sessions.interrupt(caller, session, hold(wait_seconds));
    return answered(answer.body as SessionOutcome);
  },
});
