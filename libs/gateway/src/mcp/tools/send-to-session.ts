import { MESSAGE_MODES, sendMessageSchema, type SessionOutcome } from '@hangar/contracts';
import { z } from 'zod';
import { bodyOf, keyField, sessionField, waitField } from '../fields.ts';
import { answered } from '../session.answer.ts';
import { creationAt, defineTool } from '../tool.ts';

export const sendToSession = defineTool({
  name: 'send_to_session',
  title: 'Send to session',
  description:
    'Sends a message to the agent of a session, as a follow-up to all that was said there. It is ' +
    'taken in every state but ARCHIVED: a suspended session resumes by itself, and while a turn ' +
    'works the message joins it or waits its turn (`mode`).\n' +
    "Comes back with the agent's answer when the turn has ended, with a card when the agent asks " +
    'something, or after `wait_seconds` with `pending: true` and a `message_id`: the message is ' +
    'kept and worked on, so do not send it again; wait for it with get_session.',
  scope: 'write',
  input: z.strictObject({
    session: sessionField,
    message: sendMessageSchema.shape.message.unwrap().describe('What the agent shall do or know'),
    mode: z
      .enum(MESSAGE_MODES)
      .optional()
      .describe(
        'While a turn works: "auto" (the default) joins it where the harness can, "steer" joins ' +
          'it, "queue" waits for its own turn, "interrupt" stops the turn and goes first',
      ),
    idempotency_key: keyField,
    wait_seconds: waitField,
  }),
  async run(input, { sessions, caller, hold }) {
    const { session, idempotency_key, wait_seconds } = input;
    const body = bodyOf(input, ['session', 'idempotency_key', 'wait_seconds']);
    const path = `/api/sessions/${encodeURIComponent(session)}/send`;
    const creation = creationAt(path, body, idempotency_key);
    const message = sendMessageSchema.parse(body);
    const answer = await sessions.send(caller, session, creation, message, hold(wait_seconds));
    return answered(answer.body as SessionOutcome);
  },
});
