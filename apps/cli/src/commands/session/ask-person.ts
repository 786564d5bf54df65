import type { AnswerCardInput, CardDocument } from '@hangar/contracts';
import type { RunOptions } from '../../command.ts';
import { refused } from '../../failure.ts';
import { harmless } from '../../output/style.ts';
import { showChoices } from './cards.ts';
import { toolText } from './tool-text.ts';

type Asking = Pick<RunOptions, 'output' | 'terminal'>;
type Question = CardDocument['questions'][number];

/** Asks the person at the screen, question by question. An empty line is no answer. */
export async function askPerson(asking: Asking, card: CardDocument): Promise<AnswerCardInput> {
  return card.kind === 'decision' ? askDecision(asking, card) : askQuestions(asking, card);
}

async function askDecision(asking: Asking, card: CardDocument): Promise<AnswerCardInput> {
  const { output } = asking;
  output.line(harmless(card.text));
  if (card.tool)
    output.line(output.paint('strong', harmless(toolText(card.tool.name, card.tool.input))));
  output.line('    1  allow');
  output.line('    2  deny');
  const typed = await read(asking, '1, 2, or why not: ');
  if (typed === '1' || typed === 'allow') return { verdict: 'allow' };
  // Anything else refuses: a slip of the hand must not let a tool run.
  return { verdict: 'deny', reason: typed === '2' || typed === 'deny' ? '' : typed };
}

async function askQuestions(asking: Asking, card: CardDocument): Promise<AnswerCardInput> {
  const answers: Record<string, string> = {};
  for (const question of card.questions) {
    asking.output.line(harmless(question.text));
    showChoices(asking.output, question);
    answers[question.id] = chosen(await read(asking, promptOf(question)), question);
  }
  return { answers };
}

const promptOf = ({ choices, is_multiple }: Question): string => {
  if (choices.length === 0) return 'Answer: ';
  const numbers = is_multiple ? `numbers (1,${Math.min(2, choices.length)})` : 'a number';
  return `Answer (${numbers} or your own words): `;
};

async function read({ terminal }: Asking, prompt: string): Promise<string> {
  const typed = (await terminal.stdin.ask(prompt, { secret: false })).trim();
  if (typed === '')
    throw refused('There is no answer.', 'The card stays open; answer it any time.');
  return typed;
}

/** Numbers of choices stand for their labels; other words for themselves. */
export function chosen(typed: string, { choices, is_multiple }: Question): string {
  const numbers = typed.split(/[\s,]+/).filter((word) => word !== '');
  const labels = numbers.map((word) =>
    /^\d{1,4}$/.test(word) ? choices[Number(word) - 1]?.label : undefined,
  );
  const isChoice = labels.length > 0 && labels.every((label) => label !== undefined);
  return isChoice && (is_multiple || labels.length === 1) ? labels.join(', ') : typed;
}
