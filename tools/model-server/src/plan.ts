/** Which reply is due, and how an action is said with the tools that this harness offers. */
import { findScript, parseScript, type Action, type Step } from './script.ts';
import { personText, type Message, type Property, type Tool } from './conversation.ts';

export interface Plan {
  step: Step;
  /** Index in the script; -1 without a script. */
  index: number;
  /** The same for every attempt at the same reply: what `error: 529x2` counts by. */
  attemptKey: string;
}

export interface ToolCall {
  name: string;
  kind: 'function' | 'custom';
  /** JSON input of a function, the free text of a custom tool. */
  input: Record<string, unknown> | string;
}

/** Longest quotation of a message in the default sentence, in characters. */
const QUOTE_CHARACTERS_MAX = 120;

export function planReply(messages: Message[], tools: Tool[]): Plan {
  const echo: Plan = { step: [{ type: 'echo' }], index: -1, attemptKey: 'echo' };
  // Requests without tools are a harness's own (titles, summaries): never a step of the script.
  if (tools.length === 0) return echo;
  const start = messages.findLastIndex(
    (message) => message.role === 'user' && findScript(message.text) !== null,
  );
  if (start < 0) return echo;
  const script = findScript(messages[start]?.text ?? '') ?? '';
  const steps = parseScript(script);
  const index = repliesAfter(messages, start);
  const step = steps[index];
  if (!step) return { ...echo, index };
  return { step, index, attemptKey: `${index}|${messages.length}|${script}` };
}

function repliesAfter(messages: Message[], start: number): number {
  return messages.slice(start + 1).filter((message) => message.role === 'assistant').length;
}

/** Proof of which history arrived: the counts, and the first and last words of the person. */
export function echoSentence(messages: Message[]): string {
  const people = messages.filter((message) => message.role === 'user');
  const assistants = messages.filter((message) => message.role === 'assistant').length;
  const first = quote(people.at(0)?.text ?? '');
  const last = quote(people.at(-1)?.text ?? '');
  return (
    `I was sent ${people.length} user and ${assistants} assistant messages. ` +
    `The first said "${first}", the last said "${last}".`
  );
}

function quote(text: string): string {
  return personText(text).slice(0, QUOTE_CHARACTERS_MAX);
}

const SHELL_TOOLS = new Set([
  'Bash',
  'bash',
  'shell',
  'exec_command',
  'local_shell',
  'shell_command',
  'run_shell_command',
  'execute',
]);
const WRITE_TOOLS = new Set(['Write', 'write', 'write_file', 'create_file', 'create']);
const ASK_TOOLS = new Set(['AskUserQuestion', 'request_user_input', 'ask_person', 'question']);

/** @throws Error when the harness offers no tool that can do it. */
export function toolCall(action: Action, tools: Tool[]): ToolCall | null {
  if (action.type === 'run') return shellCall(action.command, tools);
  if (action.type === 'write') return writeCall(action.path, action.content, tools);
  if (action.type === 'ask') return askCall(action.question, action.choices, tools);
  if (action.type === 'call') return { name: action.tool, kind: 'function', input: action.input };
  return null;
}

function askCall(text: string, labels: string[], tools: Tool[]): ToolCall {
  const tool = tools.find((candidate) => ASK_TOOLS.has(candidate.name));
  if (!tool) throw new Error(`no tool to ask among ${tools.map(({ name }) => name).join(', ')}`);
  const options = labels.map((label) => ({ label, description: `take ${label}` }));
  const question = { id: 'q1', header: 'Choice', question: text, options, multiSelect: false };
  return { name: tool.name, kind: 'function', input: { questions: [question] } };
}

function shellCall(command: string, tools: Tool[]): ToolCall {
  const tool = tools.find((candidate) => SHELL_TOOLS.has(candidate.name));
  if (!tool) throw new Error(`no shell tool among ${tools.map(({ name }) => name).join(', ')}`);
  const key = ['command', 'cmd'].find((name) => name in tool.properties) ?? 'command';
  const isList = tool.properties[key]?.type === 'array';
  const value = isList ? ['bash', '-lc', command] : command;
  return { name: tool.name, kind: 'function', input: withRequired(tool, { [key]: value }) };
}

function writeCall(path: string, content: string, tools: Tool[]): ToolCall {
  const tool = tools.find((candidate) => WRITE_TOOLS.has(candidate.name));
  if (!tool) return patchCall(path, content, tools);
  const pathKey =
    ['file_path', 'filePath', 'path'].find((name) => name in tool.properties) ?? 'path';
  const contentKey =
    ['content', 'file_text', 'contents'].find((name) => name in tool.properties) ?? 'content';
  const input = withRequired(tool, { [pathKey]: path, [contentKey]: content });
  return { name: tool.name, kind: 'function', input };
}

function patchCall(path: string, content: string, tools: Tool[]): ToolCall {
  const lines = content.split('\n').map((line) => `+${line}`);
  const tool = tools.find((candidate) => candidate.name === 'apply_patch');
  if (tool?.kind !== 'custom') {
    return shellCall(`printf '%s\\n' ${shellWord(content)} > ${shellWord(path)}`, tools);
  }
  const patch = ['*** Begin Patch', `*** Add File: ${path}`, ...lines, '*** End Patch', ''];
  return { name: tool.name, kind: 'custom', input: patch.join('\n') };
}

function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Required fields the script says nothing of get the smallest value their type allows. */
function withRequired(tool: Tool, input: Record<string, unknown>): Record<string, unknown> {
  const filled = { ...input };
  for (const name of tool.required) filled[name] ??= smallest(tool.properties[name] ?? {});
  return filled;
}

function smallest(property: Property): unknown {
  if (property.enum?.[0] !== undefined) return property.enum[0];
  const types = [property.type, ...(property.anyOf ?? []).map(({ type }) => type)].flat();
  if (types.includes('null')) return null;
  if (types.includes('boolean')) return false;
  if (types.includes('integer') || types.includes('number')) return 1;
  return types.includes('array') ? [] : 'scripted';
}
