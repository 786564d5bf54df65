/** What Codex asks of its client: leave for a tool call, and the questions of the agent. */
import type { Answer, Ask } from '../harness-adapter.ts';
import { boundedOutput, listAt, objectAt, textAt, type Json } from '../json-line.ts';
import { PATCH, SHELL, mcpName } from './codex.items.ts';
import type { CodexTools } from './codex.tools.ts';

/** What is asked, and what Codex is sent as the result of its request. */
export interface CodexAsk {
  ask: Ask;
  result: (answer: Answer) => Json;
}

/** null for a request that asks nothing of a person. `tools` run or wait for this very answer. */
export function codexAsk(method: string, params: Json, tools: CodexTools): CodexAsk | null {
  const id = textAt(params, 'itemId');
  // One command may ask about its parts, each under an id of its own.
  const call = textAt(params, 'approvalId') || id;
  switch (method) {
    case 'item/commandExecution/requestApproval':
      return decision(call, command(params), (isAllowed) => ({
        decision: isAllowed ? 'accept' : 'decline',
      }));
    case 'item/fileChange/requestApproval':
      return decision(call, patch(tools.item(id)), (isAllowed) => ({
        decision: isAllowed ? 'accept' : 'decline',
      }));
    case 'mcpServer/elicitation/request':
      return mcpApproval(params, tools);
    case 'item/tool/requestUserInput': {
      const ask = questionAsk(params);
      tools.started({ id, type: method });
      return { ask, result: (answer) => questionResult(ask, answer) };
    }
    default:
      return null;
  }
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

/** Leave for a call of an MCP server comes as a form without fields; other forms are refused. */
function mcpApproval(params: Json, tools: CodexTools): CodexAsk | null {
  const about = objectAt(params, '_meta');
  if (about['codex_approval_kind'] !== 'mcp_tool_call') return null;
  const call = { server: textAt(params, 'serverName'), tool: textAt(about, 'tool_name') };
  const name = mcpName(call);
  const input = about['tool_params'];
  const wanted = { name, input, text: `use ${name} ${JSON.stringify(input ?? {})}` };
  return decision(tools.mcpCall(call, textAt(params, 'turnId')), wanted, (isAllowed) => ({
    action: isAllowed ? 'accept' : 'decline',
    content: isAllowed ? {} : null,
    _meta: null,
  }));
}

function decision(id: string, tool: WantedTool, result: (isAllowed: boolean) => Json): CodexAsk {
  const { name, input, text } = tool;
  const questions = [{ id: 'leave', text, choices: [], isMultiple: false }];
  return {
    ask: { id, kind: 'decision', questions, tool: { name, input } },
    result: ({ verdict }) => result(verdict === 'allow'),
  };
}

function questionAsk(params: Json): Ask {
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

function questionResult(ask: Ask, answer: Answer): Json {
  const told = (id: string): string =>
    answer.verdict === 'allow'
      ? (answer.answers[id] ?? '')
      : `There is no answer to this${answer.reason === '' ? '' : `: ${answer.reason}`}.`;
  const answers = ask.questions.map(({ id }) => [id, { answers: [told(id)] }]);
  return { answers: Object.fromEntries(answers) };
}
