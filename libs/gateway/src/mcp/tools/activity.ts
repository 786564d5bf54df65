import { activityCursorSchema, clip, type ActivityItem } from '@hangar/contracts';
import { z } from 'zod';
import { activityLine } from '../activity.line.ts';
import { sessionField } from '../fields.ts';
import { defineTool } from '../tool.ts';

const ITEMS_SHOWN_DEFAULT = 30;
const ITEMS_SHOWN_MAX = 50;
const TEXT_CHARACTERS_MAX = 600;
const LINE_CHARACTERS_MAX = 300;

export const activity = defineTool({
  name: 'activity',
  title: 'Activity',
  description:
    'What the agent of a session did, oldest first: what it said, its tool calls and their ' +
    'results, files it changed. Begins with the newest turn; `turn` begins with another one, ' +
    '`after` goes on after an item. Texts are cut, and say so. With `next_cursor` there is more: ' +
    'give it as `after`. The answer of a turn alone is in get_session, the diff in `changes`.',
  scope: 'read',
  input: z.strictObject({
    session: sessionField,
    turn: z.int().min(1).optional().describe('Begins with this turn'),
    after: activityCursorSchema.optional().describe('`next_cursor`, or the cursor of an item'),
    limit: z.int().min(1).max(ITEMS_SHOWN_MAX).default(ITEMS_SHOWN_DEFAULT),
  }),
  async run({ session, turn, after, limit }, call) {
    const { turns } = await call.sessions.get(call.caller, session);
    const from = after ?? `${turn ?? turns.at(-1)?.number ?? 0}.0.0`;
    const page = await call.activity.list(call.caller, session, { after: from, limit });
    const lines = page.items.map(
      (item) => `[turn ${item.turn}] ${activityLine(item, LINE_CHARACTERS_MAX)}`,
    );
    if (page.next_cursor) lines.push(`More: call activity with after ${page.next_cursor}.`);
    return {
      text: lines.join('\n') || 'Nothing yet.',
      structured: { items: page.items.map(cut), next_cursor: page.next_cursor },
    };
  },
});

/** Each text of an item within the bound. */
const cut = (item: ActivityItem): ActivityItem =>
  Object.fromEntries(
    Object.entries(item).map(([key, value]) => [
      key,
      typeof value === 'string' ? clip(value, TEXT_CHARACTERS_MAX) : value,
    ]),
  ) as ActivityItem;
