import type { CheckpointDocument } from '@hangar/contracts';
import { z } from 'zod';
import { sessionField } from '../fields.ts';
import { defineTool } from '../tool.ts';

/** What a checkpoint left out, the first of it. */
const OMISSIONS_SHOWN_MAX = 10;

export const checkpoints = defineTool({
  name: 'checkpoints',
  title: 'Checkpoints',
  description:
    'The saved states of a session that are kept, newest last: after which turn, whether complete, ' +
    'the commit at the head, and what was left out (too large). One is taken after every turn and ' +
    'before each suspend. `changes` with `checkpoint` shows the work that one holds.',
  scope: 'read',
  input: z.strictObject({ session: sessionField }),
  async run({ session }, { sandboxCalls, caller }) {
    const { items } = await sandboxCalls.checkpoints(caller, session);
    const shown = items.map(rowOf);
    const lines = shown.map(({ id, turn, reason, taken_at, complete, skipped }) => {
      const whole = complete ? 'complete' : `incomplete, ${skipped.length} left out`;
      return `${id} after turn ${turn} (${reason}, ${taken_at}): ${whole}`;
    });
    const text = lines.join('\n') || 'No checkpoint yet.';
    return { text, structured: { checkpoints: shown } };
  },
});

const rowOf = ({
  id,
  reason,
  turn,
  taken_at,
  complete,
  head,
  bytes,
  skipped,
}: CheckpointDocument) => ({
  id,
  reason,
  turn,
  taken_at,
  complete,
  head,
  bytes,
  skipped: skipped.slice(0, OMISSIONS_SHOWN_MAX),
});
