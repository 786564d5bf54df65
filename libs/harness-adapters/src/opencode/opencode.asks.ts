/** What OpenCode asks, and how it is told the answer: requests to its server. */
import type { Answer, Ask, AskedQuestion } from '../harness-adapter.ts';
import { listAt, objectAt, textAt, type Json } from '../json-line.ts';

export interface Request {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
}

/** One call can need leave twice, to run and to leave the working directory. */
export function permissionAsk(json: Json): Ask {
  const permission = textAt(json, 'permission');
  const patterns = json['patterns'];
  const metadata = objectAt(json, 'metadata');
  const call = textAt(objectAt(json, 'tool'), 'callID') || textAt(json, 'id');
  const what = textAt(metadata, 'command') || (Array.isArray(patterns) ? patterns.join(', ') : '');
  const id = `${call}:${permission}`;
  return {
    id,
    kind: 'decision',
    questions: [{ id, text: `${permission}: ${what}`, choices: [], isMultiple: false }],
    tool: { name: permission, input: { ...metadata, patterns } },
  };
}

/** A rejection without a reason would end the turn; with one the agent goes on. */
export function permissionReply(json: Json, answer: Answer): Request {
  const isAllowed = answer.verdict === 'allow';
  const body = isAllowed
    ? { reply: 'once' }
    : { reply: 'reject', message: answer.reason || 'This was not allowed.' };
  return { method: 'POST', path: `/permission/${textAt(json, 'id')}/reply`, body };
}

export function questionAsk(json: Json): Ask {
  const questions = listAt(json, 'questions').map((question, index): AskedQuestion => ({
    id: `q${index + 1}`,
    text: textAt(question, 'question'),
    choices: listAt(question, 'options').map((option) => ({
      label: textAt(option, 'label'),
      description: textAt(option, 'description'),
    })),
    isMultiple: question['multiple'] === true,
  }));
  const id = textAt(objectAt(json, 'tool'), 'callID') || textAt(json, 'id');
  return { id, kind: 'question', questions };
}

/** Its own rejection carries no reason, so that one is the answer. */
export function questionReply(json: Json, ask: Ask, answer: Answer): Request {
  const answers = ask.questions.map(({ id, isMultiple }) => {
    if (answer.verdict === 'deny') return [`(no answer) ${answer.reason}`.trim()];
    const text = answer.answers[id] ?? '';
    return isMultiple ? text.split(', ') : [text];
  });
  return { method: 'POST', path: `/question/${textAt(json, 'id')}/reply`, body: { answers } };
}
