import { WAIT_SECONDS_MAX, clip, type SessionOutcome } from '@hangar/contracts';
import { z } from 'zod';
import { messageField, sessionField } from '../fields.ts';
import { answered, turnAnswer } from '../session.answer.ts';
import { defineTool } from '../tool.ts';

const EARLIER_TURNS_SHOWN_MAX = 5;
const EARLIER_CHARACTERS_MAX = 500;

export const getSession = defineTool({
  name: 'get_session',
  title: 'Get session',
  description:
    'A session: its state and why, its newest turn with the answer of the agent, the turns before ' +
    'it in short, the cards that wait on an answer, and the waiting messages. Changes nothing.\n' +
    'To wait for work that is under way, give `wait_seconds`; with `message_id` it waits for the ' +
    'turn of that message, without for the session to come to rest. It comes back early when the ' +
    'agent asks something. `pending: true` means that the time ran out: call it again.',
  scope: 'read',
  input: z.strictObject({
    session: sessionField,
    message_id: messageField.optional(),
    wait_seconds: z
      .int()
      .min(0)
      .max(WAIT_SECONDS_MAX)
      .default(0)
      .describe('How many seconds to wait; many clients give a call up after 60'),
  }),
  async run({ session, message_id, wait_seconds }, { sessions, caller, hold }) {
    const waits = wait_seconds > 0 || message_id !== undefined;
    const document: SessionOutcome = waits
      ? (await sessions.wait(caller, session, message_id ?? null, hold(wait_seconds))).body
      : await sessions.get(caller, session);
    const { text, structured } = answered({ ...document, ...(message_id && { message_id }) });
    const earlier = document.turns.slice(-EARLIER_TURNS_SHOWN_MAX - 1, -1).map((turn) => {
      const { number, outcome, message, answer } = turnAnswer(turn);
      return {
        number,
        outcome,
        message: clip(message, EARLIER_CHARACTERS_MAX),
        answer: clip(answer, EARLIER_CHARACTERS_MAX),
      };
    });
    return { text, structured: { ...structured, earlier_turns: earlier } };
  },
});
