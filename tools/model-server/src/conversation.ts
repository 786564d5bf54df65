/** The four wire formats of a request, read into one list of messages and one list of tools. */

export type Api = 'anthropic' | 'openai-responses' | 'openai-chat' | 'google';

export interface Message {
  role: 'user' | 'assistant' | 'tool' | 'system';
  text: string;
  /** Names of the tools an assistant message calls. */
  calls: string[];
}

export interface Property {
  type?: unknown;
  enum?: unknown[];
  anyOf?: Property[];
}

export interface Tool {
  name: string;
  /** `custom` tools of the Responses API take free text instead of JSON. */
  kind: 'function' | 'custom';
  properties: Record<string, Property>;
  required: string[];
}

type Json = Record<string, unknown>;

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : []);
const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Text that a harness adds around what the person wrote. */
const WRAPPERS = [
  /<system-reminder>[\s\S]*?<\/system-reminder>/g,
  /<environment_context>[\s\S]*?<\/environment_context>/g,
  /<user_instructions>[\s\S]*?<\/user_instructions>/g,
  /<permissions instructions>[\s\S]*?<\/permissions instructions>/g,
  /<session_context>[\s\S]*?<\/session_context>/g,
  // What hangar puts before a message that Gemini CLI would take for a command.
  /^\s*The message:\n/g,
];

/** How Claude Code passes on what a person said while it worked: inside a tool's result. */
const STEERED =
  /<system-reminder>\s*The user sent a new message while you were working:\n([\s\S]*?)\n\nThis is how[\s\S]*?<\/system-reminder>/g;

export function personText(text: string): string {
  return WRAPPERS.reduce((rest, wrapper) => rest.replace(wrapper, ''), text).trim();
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part) => stringOf(part['text']))
    .filter((text) => text !== '')
    .join('\n');
}

export function messagesOf(api: Api, body: Json): Message[] {
  switch (api) {
    case 'anthropic':
      return listOf(body['messages']).flatMap(anthropicMessages);
    case 'openai-chat':
      return listOf(body['messages']).map(chatMessage);
    case 'openai-responses':
      return responsesMessages(body['input']);
    case 'google':
      return listOf(body['contents']).flatMap(googleMessages);
  }
}

function anthropicMessages(message: Json): Message[] {
  const content = message['content'];
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content);
  const text = textOf(parts.filter((part) => part['type'] === 'text'));
  if (message['role'] === 'assistant') {
    const calls = parts.filter((part) => part['type'] === 'tool_use');
    return [{ role: 'assistant', text, calls: calls.map((call) => stringOf(call['name'])) }];
  }
  if (message['role'] === 'system') return [{ role: 'system', text, calls: [] }];
  const results = parts
    .filter((part) => part['type'] === 'tool_result')
    .flatMap((part) => toolMessages(textOf(part['content'])));
  return personText(text) === '' ? results : [...results, { role: 'user', text, calls: [] }];
}

function toolMessages(text: string): Message[] {
  const steered = [...text.matchAll(STEERED)].map((found) => found[1] ?? '');
  const result: Message = { role: 'tool', text: text.replace(STEERED, '').trim(), calls: [] };
  return [result, ...steered.map((each): Message => ({ role: 'user', text: each, calls: [] }))];
}

function chatMessage(message: Json): Message {
  const text = textOf(message['content']);
  const role = stringOf(message['role']);
  if (role === 'tool') return { role: 'tool', text, calls: [] };
  if (role === 'user') return { role: 'user', text, calls: [] };
  if (role !== 'assistant') return { role: 'system', text, calls: [] };
  const calls = listOf(message['tool_calls']).map((call) => call['function']);
  return { role, text, calls: calls.filter(isJson).map((call) => stringOf(call['name'])) };
}

/** A reply is several items there: texts and calls in a row are one assistant message. */
function responsesMessages(input: unknown): Message[] {
  if (typeof input === 'string') return [{ role: 'user', text: input, calls: [] }];
  const messages: Message[] = [];
  const assistant = (text: string, calls: string[]): void => {
    const last = messages.at(-1);
    if (last?.role !== 'assistant') messages.push({ role: 'assistant', text, calls });
    else messages[messages.length - 1] = joined(last, text, calls);
  };
  for (const item of listOf(input)) {
    const type = stringOf(item['type']);
    if (type.endsWith('_output')) {
      const output = item['output'];
      const text = typeof output === 'string' ? output : textOf(output) || JSON.stringify(output);
      messages.push({ role: 'tool', text, calls: [] });
    } else if (type.endsWith('_call')) assistant('', [stringOf(item['name'])]);
    else if (type === 'reasoning') continue;
    else if (item['role'] === 'assistant') assistant(textOf(item['content']), []);
    else if (item['role'] === 'user') {
      const text = textOf(item['content']);
      if (personText(text) !== '') messages.push({ role: 'user', text, calls: [] });
    } else messages.push({ role: 'system', text: textOf(item['content']), calls: [] });
  }
  return messages;
}

function googleMessages(content: Json): Message[] {
  const parts = listOf(content['parts']);
  const text = textOf(parts.filter((part) => part['thought'] !== true));
  if (content['role'] === 'model') {
    const calls = parts.map((part) => part['functionCall']).filter(isJson);
    return [{ role: 'assistant', text, calls: calls.map((call) => stringOf(call['name'])) }];
  }
  const results = parts
    .map((part) => part['functionResponse'])
    .filter(isJson)
    .map((result): Message => {
      const response = isJson(result['response']) ? result['response'] : {};
      const output = stringOf(response['output']) || JSON.stringify(response);
      return { role: 'tool', text: output, calls: [] };
    });
  return personText(text) === '' ? results : [...results, { role: 'user', text, calls: [] }];
}

function joined(message: Message, text: string, calls: string[]): Message {
  const texts = [message.text, text].filter((part) => part !== '');
  return { ...message, text: texts.join('\n'), calls: [...message.calls, ...calls] };
}

export function toolsOf(api: Api, body: Json): Tool[] {
  const tools = listOf(body['tools']);
  const declared = tools.flatMap((tool) => listOf(tool['functionDeclarations']));
  return (api === 'google' ? declared : tools).map((tool) => {
    const source = api === 'openai-chat' && isJson(tool['function']) ? tool['function'] : tool;
    const schema = source['input_schema'] ?? source['parameters'] ?? source['parametersJsonSchema'];
    const properties = isJson(schema) && isJson(schema['properties']) ? schema['properties'] : {};
    const required = isJson(schema) && Array.isArray(schema['required']) ? schema['required'] : [];
    return {
      name: stringOf(source['name']) || stringOf(source['type']),
      kind: source['type'] === 'custom' ? 'custom' : 'function',
      properties: properties as Tool['properties'],
      required: required.filter((name) => typeof name === 'string'),
    };
  });
}
