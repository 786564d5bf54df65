import {
  clip,
  cursorSchema,
  listSessionsQuerySchema,
  type SessionSummary,
} from '@hangar/contracts';
import { z } from 'zod';
import { defineTool } from '../tool.ts';

const LIST_SIZE_DEFAULT = 20;
const LIST_SIZE_MAX = 50;
const SUMMARY_CHARACTERS_MAX = 300;
const { shape } = listSessionsQuerySchema;

export const listSessions = defineTool({
  name: 'list_sessions',
  title: 'List sessions',
  description:
    'Your sessions, newest first: name, state, what the agent said last, and how many cards wait ' +
    'on an answer (`attention`). States: STARTING and RESUMING get a sandbox; ACTIVE works; IDLE ' +
    'and SUSPENDED wait for a message; INTERRUPTED waits for resolve_interruption; FAILED for ' +
    'open_session. With `next_cursor` there are more: give it as `cursor`. get_session shows one.',
  scope: 'read',
  input: z.strictObject({
    state: shape.state.describe('Only those in this state'),
    environment: shape.environment.describe('Only those in this environment'),
    q: shape.q.describe('Part of the name, title, repository or branch'),
    limit: z.int().min(1).max(LIST_SIZE_MAX).default(LIST_SIZE_DEFAULT),
    cursor: cursorSchema.optional().describe('`next_cursor` of the page before'),
  }),
  async run(input, { sessions, caller }) {
    const { items, next_cursor } = await sessions.list(caller, input);
    const listed = items.map(rowOf);
    const lines = listed.map(
      ({ name, id, state, attention, last_answer }) =>
        `${name} (${id}) ${state}${attention > 0 ? `, ${attention} cards wait` : ''}` +
        (last_answer ? `: ${last_answer.replaceAll(/\s+/g, ' ')}` : ''),
    );
    if (next_cursor) lines.push(`More: call list_sessions with cursor ${next_cursor}.`);
    const text = lines.join('\n') || 'No sessions. new_session starts one.';
    return { text, structured: { sessions: listed, next_cursor } };
  },
});

const rowOf = (s: SessionSummary) => ({
  id: s.id,
  name: s.name,
  title: s.title,
  state: s.state,
  environment: s.environment,
  harness: s.harness,
  repo: s.repo,
  turns: s.turn_count,
  last_answer: clip(s.last_summary, SUMMARY_CHARACTERS_MAX),
  attention: s.attention_count,
  queue: s.queue_count,
  last_active_at: s.last_active_at,
});
