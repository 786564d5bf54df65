import { suspendSessionSchema, type SessionOutcome } from '@hangar/contracts';
import { z } from 'zod';
import { sessionField, waitField } from '../fields.ts';
import { answered } from '../session.answer.ts';
import { defineTool } from '../tool.ts';

export const suspendSession = defineTool({
  name: 'suspend_session',
  title: 'Suspend session',
  description:
    'Saves the work of a session and releases its sandbox; from then on it costs storage only, and ' +
    'the next message resumes it with the same conversation and files. A running turn ends first. ' +
    'When something could not be saved the sandbox is kept and a card says what. Comes back when ' +
    'the session is SUSPENDED, or after `wait_seconds` with `pending: true`.',
  scope: 'write',
  input: z.strictObject({
    session: sessionField,
    force: suspendSessionSchema.shape.force.describe(
      'Releases the sandbox even where its work cannot be saved whole: what is missing is lost',
    ),
    wait_seconds: waitField,
  }),
  destroys: true,
  async run({ session, force, wait_seconds }, { sessions, caller, hold }) {
    const answer = await sessions.suspend(caller, session, { force }, hold(wait_seconds));
    return answered(answer.body as SessionOutcome);
  },
});
