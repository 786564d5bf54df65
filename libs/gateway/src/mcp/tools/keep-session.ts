import { keepSessionSchema } from '@hangar/contracts';
import { z } from 'zod';
import { sessionField } from '../fields.ts';
import { answered } from '../session.answer.ts';
import { defineTool } from '../tool.ts';

export const keepSession = defineTool({
  name: 'keep_session',
  title: 'Keep session',
  description:
    'Changes after how many minutes without work a session suspends by itself; 0 keeps its sandbox ' +
    'up until suspend_session. Suspending loses nothing that git knows; a running server or an ' +
    'installed package in the sandbox goes. Comes back at once with the session.',
  scope: 'write',
  input: z.strictObject({
    session: sessionField,
    idle_minutes: keepSessionSchema.shape.idle_minutes.describe('Minutes; 0: never'),
  }),
  async run({ session, idle_minutes }, { sessions, caller }) {
    return answered(await sessions.keep(caller, session, { idle_minutes }));
  },
});
