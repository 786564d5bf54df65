import {
  answerCardSchema,
  cardIdSchema,
  HangarError,
  type SessionOutcome,
} from '@hangar/contracts';
import { z } from 'zod';
import { bodyOf, sessionField, waitField } from '../fields.ts';
import { answered } from '../session.answer.ts';
import { defineTool } from '../tool.ts';

const { shape } = answerCardSchema;

export const answer = defineTool({
  name: 'answer',
  title: 'Answer a card',
  description:
    'Answers a card of a session: a question of its agent, or its wish to use a tool (a decision). ' +
    'A question takes `text` (a choice or free text), or `answers` by question id when it has ' +
    'several. A decision takes `verdict`, with a `reason` that the agent hears on "deny". The ' +
    'first answer counts; a late one is refused and says what was decided. A suspended session ' +
    'resumes to hear it. Comes back when the turn has ended, the agent asks again, or after ' +
    '`wait_seconds` with `pending: true`. Ask your person about what is not yours to decide.',
  scope: 'write',
  input: z.strictObject({
    session: sessionField,
    card: cardIdSchema.describe('The id of the card (card-...)'),
    verdict: shape.verdict
      .unwrap()
      .optional()
      .describe('For a decision; "deny" leaves a question open too'),
    text: shape.text.describe('The answer to a card with one question'),
    answers: shape.answers.describe('The answers by question id, for a card with several'),
    reason: shape.reason.unwrap().optional().describe('What the agent is told with a "deny"'),
    wait_seconds: waitField,
  }),
  async run(input, { sessions, caller, hold }) {
    const { session, card, wait_seconds, verdict, text, answers } = input;
    // Leave is not given by saying nothing, as a person's empty answer over REST may.
    if (verdict === undefined && text === undefined && answers === undefined)
      throw new HangarError('invalid', 'The answer is missing.', {
        hint: 'Give verdict "allow" or "deny" for a decision, text or answers for a question.',
      });
    const body = answerCardSchema.parse(bodyOf(input, ['session', 'card', 'wait_seconds']));
    const document = await sessions.answerCard(caller, session, card, body, hold(wait_seconds));
    return answered(document.body as SessionOutcome);
  },
});
