import { HangarError, type Answer, type AnswerCardBody, type Ask } from '@hangar/contracts';

/** `text` answers the one question there is; a card that is not there is refused by its owner. */
export function answerOf(body: AnswerCardBody, asked: Ask | null): Answer {
  const { verdict, text, answers = {}, reason } = body;
  const [question, ...others] = asked?.kind === 'question' ? asked.questions : [];
  if (text !== undefined && others.length > 0)
    throw new HangarError('invalid', 'The card has several questions.', {
      hint: `Give \`answers\` by id: ${asked?.questions.map(({ id }) => id).join(', ')}.`,
    });
  const given = text !== undefined && question ? { [question.id]: text } : answers;
  // A decision has no question to answer: words beside a deny are its reason.
  const words = asked?.kind === 'decision' && text !== undefined ? decisionOf(text) : null;
  return {
    verdict: words?.verdict ?? verdict,
    answers: Object.entries(given).map(([question_id, each]) => ({ question_id, text: each })),
    reason: words?.reason ?? reason,
  };
}

/** `allow` and `deny` are the choices of such a card; anything else says why it is denied. */
const decisionOf = (text: string): { verdict: 'allow' | 'deny'; reason: string } => {
  if (text === 'allow' || text === 'deny') return { verdict: text, reason: '' };
  return { verdict: 'deny', reason: text };
};
