/** An answer in words, for an agent that is not asking any more: it goes on with them [A2]. */
import type { Answer, Ask } from './harness-adapter.ts';

export function answeredText({ ask, answer }: { ask: Ask; answer: Answer }): string {
  const isAllowed = answer.verdict === 'allow';
  const reason = answer.reason === '' ? '' : `: ${answer.reason}`;
  const told = ask.questions.map(({ id, text }) => {
    if (ask.kind === 'decision') {
      return isAllowed ? `You may «${text}»: allowed.` : `You may not «${text}»: denied${reason}.`;
    }
    return isAllowed
      ? `Your question «${text}» was answered: ${answer.answers[id] ?? ''}.`
      : `Your question «${text}» stays without an answer${reason}.`;
  });
  return [...told, 'Continue.'].join(' ');
}
