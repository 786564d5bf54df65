import type { CardDocument } from '@hangar/contracts';

/** What a person has chosen for one question: labels, words of their own, or both. */
export interface Chosen {
  labels: string[];
  text: string;
}

type Question = CardDocument['questions'][number];

/** Several are separated by a comma, as the agent expects them. */
const answerOf = (chosen: Chosen | undefined): string =>
  [...(chosen?.labels ?? []), ...(chosen?.text.trim() ? [chosen.text.trim()] : [])].join(', ');

export const answersOf = (
  questions: Pick<Question, 'id'>[],
  chosen: Record<string, Chosen>,
): Record<string, string> =>
  Object.fromEntries(questions.map(({ id }) => [id, answerOf(chosen[id])]));

export const isAnswered = (
  questions: Pick<Question, 'id'>[],
  chosen: Record<string, Chosen>,
): boolean => questions.every(({ id }) => answerOf(chosen[id]) !== '');
