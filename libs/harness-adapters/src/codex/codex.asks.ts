/** What Codex asks of its client: leave for a tool call, and the questions of the agent. */
import type { Answer, Ask } from '../harness-adapter.ts';
import { boundedOutput, listAt, textAt, type Json } from '../json-line.ts';
import { PATCH, SHELL } from './codex.items.ts';

const COMMAND = 'item/commandExecution/requestApproval';
const CHANGE = 'item/fileChange/requestApproval';

export function isApproval(method: string): boolean {
  return method === COMMAND || method === CHANGE;
}

/** `item` is what the request is about, as it was started: the request has no paths. */
export function approvalAsk(method: string, params: Json, item: Json): Ask {
  const tool = method === CHANGE ? patch(item) : command(params);
  return {
    // One command may ask about its parts, each under an id of its own.
    id: textAt(params, 'approvalId') || textAt(params, 'itemId'),
    kind: 'decision',
    questions: [{ id: 'leave', text: tool.text, choices: [], isMultiple: false }],
    tool: { name: tool.name, input: tool.input },
  };
}

interface WantedTool {
  name: string;
  input: unknown;
  text: string;
}

function command(params: Json): WantedTool {
  const input = { command: textAt(params, 'command'), cwd: textAt(params, 'cwd') };
  return { name: SHELL, input, text: `run ${input.command}` };
}

function patch(item: Json): WantedTool {
  const changes = listAt(item, 'changes');
  const paths = changes.map((change) => textAt(change, 'path'));
  const diff = boundedOutput(changes.map((change) => textAt(change, 'diff')).join('\n'));
  return { name: PATCH, input: { paths, diff }, text: `change ${paths.join(', ')}` };
}

export function approvalResult(answer: Answer): Json {
  return { decision: answer.verdict === 'allow' ? 'accept' : 'decline' };
}

export function questionAsk(params: Json): Ask {
  return {
    id: textAt(params, 'itemId'),
    kind: 'question',
    questions: listAt(params, 'questions').map((question) => ({
      id: textAt(question, 'id'),
      text: textAt(question, 'question'),
      choices: listAt(question, 'options').map((option) => ({
        label: textAt(option, 'label'),
        description: textAt(option, 'description'),
      })),
      isMultiple: false,
    })),
  };
}

export function questionResult(ask: Ask, answer: Answer): Json {
  const told = (id: string): string =>
    answer.verdict === 'allow'
      ? (answer.answers[id] ?? '')
      : `There is no answer to this${answer.reason === '' ? '' : `: ${answer.reason}`}.`;
  const answers = ask.questions.map(({ id }) => [id, { answers: [told(id)] }]);
  return { answers: Object.fromEntries(answers) };
}
