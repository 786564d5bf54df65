/** The dialogs of hangar's extension of pi (hangar.mjs): what is asked, and how it is answered. */
import type { Answer, Ask, AskedQuestion } from '../harness-adapter.ts';
import { listAt, objectAt, parseJson, textAt, type Json } from '../json-line.ts';

/** null when the dialog is another extension's. */
export function dialogAsk(dialog: Json): Ask | null {
  const json =
    textAt(dialog, 'title') === 'hangar' ? parseJson(textAt(dialog, 'placeholder')) : null;
  if (json === null) return null;
  const id = textAt(json, 'id');
  if (json['kind'] === 'question') {
    return { id, kind: 'question', questions: listAt(json, 'questions').map(question) };
  }
  const tool = { name: textAt(json, 'name'), input: json['input'] };
  const text = toolText(tool.name, objectAt(json, 'input'));
  const leave = { id: 'leave', text, choices: [], isMultiple: false };
  return { id, kind: 'decision', questions: [leave], tool };
}

function question(json: Json, index: number): AskedQuestion {
  return {
    id: `${index + 1}`,
    text: textAt(json, 'question'),
    choices: listAt(json, 'options').map((option) => ({
      label: textAt(option, 'label'),
      description: textAt(option, 'description'),
    })),
    isMultiple: json['multiSelect'] === true,
  };
}

function toolText(name: string, input: Json): string {
  if (name === 'bash') return `run ${textAt(input, 'command')}`;
  const path = textAt(input, 'path');
  return path === '' ? `use ${name}` : `${name} ${path}`;
}

/** The value of the dialog: `text` is what the model reads. */
export function dialogValue(ask: Ask, answer: Answer): string {
  const isAllowed = answer.verdict === 'allow';
  return JSON.stringify({ isAllowed, text: isAllowed ? told(ask, answer) : refused(ask, answer) });
}

function told({ questions }: Ask, { answers }: Answer): string {
  const [first] = questions;
  if (questions.length === 1 && first) return answers[first.id] ?? '';
  return questions.map(({ id, text }) => `«${text}»: ${answers[id] ?? ''}`).join('\n');
}

function refused({ kind }: Ask, { reason }: Answer): string {
  const what = kind === 'question' ? 'There is no answer to this' : 'You may not do this';
  return reason === '' ? `${what}.` : `${what}: ${reason}`;
}
