import type { SessionOutcome } from '@hangar/contracts';
import { z } from 'zod';
import { sessionField, waitField } from '../fields.ts';
import { answered } from '../session.answer.ts';
import { defineTool } from '../tool.ts';

export const openSession = defineTool({
  name: 'open_session',
  title: 'Open session',
  description:
    'Gives a SUSPENDED session its sandbox back, with the work in it, or tries a FAILED one again. ' +
    'Opening what is open changes nothing. Not needed before send_to_session, which opens by ' +
    'itself: use it to look at files or to save the next message the wait. Comes back when the ' +
    'session is IDLE or cannot start; `losses` says what did not come back whole.',
  scope: 'write',
  input: z.strictObject({ session: sessionField, wait_seconds: waitField }),
  async run({ session, wait_seconds }, { sessions, caller, hold }) {
    const answer = await sessions.open(caller, session, hold(wait_seconds));
    return answered(answer.body as SessionOutcome);
  },
});
