import { clip, cursorSchema } from '@hangar/contracts';
import { z } from 'zod';
import { sessionField } from '../fields.ts';
import { defineTool } from '../tool.ts';

const DECISIONS_SHOWN_DEFAULT = 30;
const DECISIONS_SHOWN_MAX = 50;
const INPUT_CHARACTERS_MAX = 300;

export const decisions = defineTool({
  name: 'decisions',
  title: 'Decisions',
  description:
    'Each tool call that the agent of a session made, allowed or denied, why, and by what: the ' +
    "session's mode, a rule, a person or the harness. Oldest first; `turn` shows one turn. With " +
    '`next_cursor` there are more. What still waits for leave is a card in get_session: use `answer`.',
  scope: 'read',
  input: z.strictObject({
    session: sessionField,
    turn: z.int().min(1).optional(),
    limit: z.int().min(1).max(DECISIONS_SHOWN_MAX).default(DECISIONS_SHOWN_DEFAULT),
    cursor: cursorSchema.optional().describe('`next_cursor` of the page before'),
  }),
  async run({ session, ...query }, { activity, caller }) {
    const page = await activity.decisions(caller, session, query);
    const items = page.items.map(
      ({ turn, tool, input, verdict, reason, decided_by, decided_at }) => ({
        turn,
        tool,
        input: clip(input, INPUT_CHARACTERS_MAX),
        verdict,
        reason: clip(reason, INPUT_CHARACTERS_MAX),
        decided_by,
        decided_at,
      }),
    );
    const lines = items.map(
      (item) =>
        `[turn ${item.turn}] ${item.verdict} ${item.tool} ${item.input} (by ${item.decided_by}` +
        `${item.reason ? `: ${item.reason}` : ''})`,
    );
    if (page.next_cursor) lines.push(`More: call decisions with cursor ${page.next_cursor}.`);
    const text = lines.join('\n') || 'No tool calls were decided yet.';
    return { text, structured: { decisions: items, next_cursor: page.next_cursor } };
  },
});
