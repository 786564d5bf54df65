/** Answers one request for a reply: finds the step that is due and plays it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { anthropicReply } from './anthropic-reply.ts';
import { messagesOf, personText, toolsOf, type Api, type Message } from './conversation.ts';
import { googleReply } from './google-reply.ts';
import type { ModelState } from './model-state.ts';
import { chatReply, responsesReply } from './openai-replies.ts';
import { echoSentence, planReply, toolCall, type Plan } from './plan.ts';
import { keptTexts, type LoggedRequest } from './request-log.ts';
import { sendError, type ReplyTarget, type ReplyWriter } from './reply-writer.ts';
import type { Action, Step } from './script.ts';

/** Longest time a reply is held by the gate. */
const HOLD_MILLISECONDS_MAX = 600_000;

export async function reply(
  state: ModelState,
  api: Api,
  url: URL,
  request: IncomingMessage,
  text: string,
  response: ServerResponse,
): Promise<void> {
  const body = JSON.parse(text) as Record<string, unknown>;
  const messages = messagesOf(api, body);
  const tools = toolsOf(api, body);
  const bearer = request.headers.authorization?.replace(/^Bearer /i, '');
  const entry: LoggedRequest = {
    number: state.log.nextNumber(),
    api,
    method: request.method ?? '',
    path: url.pathname,
    key: String(request.headers['x-api-key'] ?? request.headers['x-goog-api-key'] ?? bearer ?? ''),
    model: String(body['model'] ?? /models\/([^:/]+):/.exec(url.pathname)?.[1] ?? ''),
    stream: body['stream'] === true || url.pathname.endsWith(':streamGenerateContent'),
    tools: tools.length,
    ...textsOf(messages),
    step: -1,
    status: 0,
    clientLeft: false,
  };
  response.on('close', () => {
    entry.clientLeft = !response.writableFinished;
    entry.status = response.headersSent ? response.statusCode : 0;
    state.log.changed();
  });
  const queued = tools.length > 0 ? state.takeQueued() : undefined;
  const plan = queued ? queuedPlan(queued) : planReply(messages, tools);
  entry.step = plan.index;
  state.log.add(entry);
  await state.log.until(() => !state.isHeld || response.destroyed, HOLD_MILLISECONDS_MAX);
  if (state.isExpired(entry.key)) return sendError(api, response, 401);
  const id = `${state.prefix}${entry.number}`;
  const target = { response, model: entry.model, stream: entry.stream, id };
  const calls = (action: Action): ReturnType<typeof toolCall> => toolCall(action, tools);
  await play(state, plan, { api, target, calls, sentence: echoSentence(messages) });
}

function textsOf(
  messages: Message[],
): Pick<LoggedRequest, 'roles' | 'userTexts' | 'assistantTexts' | 'toolResults'> {
  const of = (role: Message['role']): string[] =>
    messages.filter((message) => message.role === role).map((message) => message.text);
  return {
    roles: messages.map((message) => message.role).slice(-200),
    userTexts: keptTexts(of('user').map(personText)),
    assistantTexts: keptTexts(of('assistant')),
    toolResults: keptTexts(of('tool')),
  };
}

function queuedPlan(step: Step): Plan {
  return { step, index: -2, attemptKey: 'queued' };
}

interface Scene {
  api: Api;
  target: ReplyTarget;
  calls: (action: Action) => ReturnType<typeof toolCall>;
  sentence: string;
}

const WRITERS: Record<Api, (target: ReplyTarget) => ReplyWriter> = {
  anthropic: anthropicReply,
  'openai-responses': responsesReply,
  'openai-chat': chatReply,
  google: googleReply,
};

async function play(state: ModelState, plan: Plan, scene: Scene): Promise<void> {
  const { response } = scene.target;
  const attempt = state.attempt(plan.attemptKey);
  const writer = WRITERS[scene.api](scene.target);
  let isOpen = false;
  const open = (): ReplyWriter => {
    if (!isOpen) writer.open();
    isOpen = true;
    return writer;
  };
  for (const action of plan.step) {
    switch (action.type) {
      case 'wait':
        await state.log.until(() => response.destroyed, action.milliseconds);
        break;
      case 'error':
        if (action.times !== null && attempt > action.times) break;
        return sendError(scene.api, response, action.status, action.resetsAtSeconds);
      case 'hang':
        response.flushHeaders();
        return;
      case 'cut':
        open().partialText(action.text);
        await new Promise<void>((resolve) => response.write('\n', () => resolve()));
        response.destroy();
        return;
      case 'say':
        open().text(action.text);
        break;
      case 'think':
        open().think(action.text);
        break;
      case 'echo':
        open().text(scene.sentence);
        break;
      default:
        playCall(open(), scene.calls(action));
    }
    if (response.destroyed) return;
  }
  if (!isOpen) open().text(scene.sentence);
  writer.end();
}

function playCall(writer: ReplyWriter, call: ReturnType<typeof toolCall>): void {
  if (call) writer.call(call);
}
