import { z } from 'zod';
import { sessionField } from '../fields.ts';
import { answered } from '../session.answer.ts';
import { defineTool } from '../tool.ts';

export const archiveSession = defineTool({
  name: 'archive_session',
  title: 'Archive session',
  description:
    'Ends a session for good: its checkpoints and its sandbox go, its name becomes free, its ' +
    'record and summaries stay. Work that was not pushed anywhere is lost, so look at `changes` ' +
    'first and ask your person. To save cost, suspend_session is enough. Comes back at once.',
  scope: 'write',
  input: z.strictObject({ session: sessionField }),
  destroys: true,
  async run({ session }, { sessions, caller }) {
    return answered(await sessions.archive(caller, session));
  },
});
