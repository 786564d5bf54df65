import { ANSWER_CHARACTERS_MAX, clip, type Answer, type Ask } from '@hangar/contracts';

/** An answer in a few words, for people. */
export const answerText = ({ verdict, answers, reason }: Answer): string =>
  answers.map(({ text }) => text).join('; ') || (reason ? `${verdict}: ${reason}` : verdict);

export const askText = (ask: Ask): string => ask.questions.map(({ text }) => text).join('\n');

/** What the agent is told where the answer cannot reach the call that asked [A2]. */
export function answerMessage(ask: Ask, answer: Answer): string {
  const reason = answer.reason ? ` (${answer.reason})` : '';
  if (ask.kind === 'decision')
    return answer.verdict === 'allow'
      ? `You asked for leave: ${askText(ask)} It is allowed. Continue.`
      : `You asked for leave: ${askText(ask)} It is denied${reason}. Go on without it.`;
  const lines = ask.questions.map((question) => {
    const given = answer.answers.find(({ question_id }) => question_id === question.id);
    return `Your question «${question.text}» was ${given ? `answered: ${given.text}` : `left without an answer${reason}`}.`;
  });
  return `${lines.join('\n')}\nContinue.`;
}

/**
 * A message that comes in the place of an answer: it is the answer, in the person's own words. Its
 * event carries the whole message as well, so the answers share what one answer may be.
 */
export function answerOfMessage(ask: Ask, text: string): Answer {
  if (ask.kind !== 'question')
    return { verdict: 'deny', answers: [], reason: clip(text, ANSWER_CHARACTERS_MAX) };
  const max = Math.floor(ANSWER_CHARACTERS_MAX / Math.max(1, ask.questions.length));
  const answers = ask.questions.map(({ id }) => ({ question_id: id, text: clip(text, max) }));
  return { verdict: 'allow', answers, reason: '' };
}
