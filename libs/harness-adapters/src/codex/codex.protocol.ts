/** One turn over `codex app-server` on stdio: JSON-RPC, an object a line, both ways. */
import type {
  HarnessEvent,
  ProtocolInput,
  TurnProtocol,
  TurnResult,
  TurnSpec,
  Usage,
} from '../harness-adapter.ts';
import { isJson, numberAt, objectAt, parseJson, textAt, type Json } from '../json-line.ts';
import { NotLive } from '../not-live.ts';
import { processResult, turnError, type ReportedError } from '../turn-error.ts';
import { itemCompleted, itemStarted } from './codex.items.ts';

interface Step {
  events: HarnessEvent[];
  inputs: ProtocolInput[];
}

const NOTHING: Step = { events: [], inputs: [] };
/** Ids of our requests; the server's own requests count from 0 apart. */
const INITIALIZE = 1;
const THREAD = 2;
const TURN = 3;
const INTERRUPT = 4;
/** HTTP status that an error name stands for, where Codex gives no number. */
const STATUS_OF: Record<string, number> = {
  usageLimitExceeded: 429,
  unauthorized: 401,
  badRequest: 400,
  contextWindowExceeded: 400,
  serverOverloaded: 529,
  internalServerError: 500,
};
const NOBODY_ANSWERS =
  'Nobody can answer while this turn runs. End your turn with the question as your last ' +
  'message; the answer comes as the next message.';

export class CodexProtocol extends NotLive implements TurnProtocol {
  readonly #turn: TurnSpec;
  #threadId = '';
  #turnId = '';
  #summary = '';
  /** Usage counts over the whole thread: the total before this turn, and the newest. */
  #before: Json | null = null;
  #newest: Json = {};
  #resetsAt: number | undefined;
  #ended: TurnResult | null = null;
  #isInterrupted = false;

  constructor(turn: TurnSpec) {
    super();
    this.#turn = turn;
  }

  open(): ProtocolInput[] {
    const clientInfo = { name: 'hangar', title: 'hangar', version: '1' };
    const capabilities = { experimentalApi: true };
    return [
      request('initialize', INITIALIZE, 'initialize', { clientInfo, capabilities }),
      { key: 'initialized', line: JSON.stringify({ method: 'initialized' }) },
      this.#thread(),
    ];
  }

  line(line: string): Step {
    const json = parseJson(line);
    if (json === null || this.#ended !== null) return NOTHING;
    const method = textAt(json, 'method');
    if (method === '') return this.#response(json);
    if ('id' in json) return serverRequest(json, method);
    const params = objectAt(json, 'params');
    const threadId = textAt(params, 'threadId');
    // Subagents are threads of their own in the same process.
    if (threadId !== '' && threadId !== this.#threadId) return NOTHING;
    return this.#notification(method, params, numberAt(json, 'emittedAtMs'));
  }

  override interrupt(): ProtocolInput[] {
    this.#isInterrupted = true;
    if (this.#turnId === '') return [];
    const params = { threadId: this.#threadId, turnId: this.#turnId };
    return [request('interrupt', INTERRUPT, 'turn/interrupt', params)];
  }

  close(): ProtocolInput[] {
    return [{ key: 'eof', line: 'eof' }];
  }

  exited(exit: { code: number | null; signal: string | null }, stderr: string): TurnResult {
    if (this.#ended !== null) return this.#ended;
    const known = { summary: this.#summary, usage: this.#usage() };
    return processResult('codex', exit, stderr, { ...known, isInterrupted: this.#isInterrupted });
  }

  #thread(): ProtocolInput {
    const { cwd, model, resume, conversationId } = this.#turn;
    const params = {
      cwd,
      approvalPolicy: 'never',
      sandbox: 'danger-full-access',
      ...(model === null ? {} : { model }),
    };
    if (!resume) return request('thread', THREAD, 'thread/start', params);
    const resumed = { ...params, threadId: conversationId, excludeTurns: true };
    return request('thread', THREAD, 'thread/resume', resumed);
  }

  #response(json: Json): Step {
    const error = objectAt(json, 'error');
    const message = textAt(error, 'message');
    if ('error' in json && json['id'] !== INTERRUPT) return this.#refused(json['id'], message);
    const result = objectAt(json, 'result');
    if (json['id'] === THREAD) {
      this.#threadId = textAt(objectAt(result, 'thread'), 'id');
      const input = [{ type: 'text', text: this.#turn.prompt, text_elements: [] }];
      const clientUserMessageId = this.#turn.messageId;
      const params = { threadId: this.#threadId, clientUserMessageId, input };
      return {
        events: [{ type: 'conversation', id: this.#threadId }],
        inputs: [request('turn', TURN, 'turn/start', params)],
      };
    }
    if (json['id'] === TURN) {
      this.#turnId = textAt(objectAt(result, 'turn'), 'id');
      return { events: [], inputs: this.#isInterrupted ? this.interrupt() : [] };
    }
    return NOTHING;
  }

  /** A request of ours was refused: without a thread or a turn nothing more will come. */
  #refused(id: unknown, message: string): Step {
    const isLost = id === THREAD && this.#turn.resume;
    const error = isLost ? { kind: 'conversation_lost' as const, message } : turnError({ message });
    return this.#end({ outcome: 'failed', error });
  }

  #notification(method: string, params: Json, emittedAt: number): Step {
    const item = objectAt(params, 'item');
    switch (method) {
      case 'item/started':
        if (item['type'] === 'userMessage') return this.#delivered(item);
        return { events: itemStarted(item), inputs: [] };
      case 'item/completed':
        if (item['type'] === 'agentMessage') this.#summary = textAt(item, 'text') || this.#summary;
        return { events: itemCompleted(item), inputs: [] };
      case 'item/agentMessage/delta':
        return only({ type: 'text_delta', text: textAt(params, 'delta') });
      case 'thread/tokenUsage/updated':
        this.#tokens(params);
        return NOTHING;
      case 'account/rateLimits/updated':
        this.#limits(objectAt(params, 'rateLimits'));
        return NOTHING;
      case 'error':
        return params['willRetry'] === true ? only(retrying(objectAt(params, 'error'))) : NOTHING;
      case 'warning':
      case 'configWarning':
        return only({
          type: 'notice',
          text: textAt(params, 'message') || textAt(params, 'summary'),
        });
      case 'turn/completed':
        return this.#completed(objectAt(params, 'turn'), emittedAt);
      default:
        return NOTHING;
    }
  }

  #delivered(item: Json): Step {
    const messageId = textAt(item, 'clientId');
    return messageId === '' ? NOTHING : only({ type: 'delivered', messageId });
  }

  #tokens(params: Json): void {
    const usage = objectAt(params, 'tokenUsage');
    const total = objectAt(usage, 'total');
    if (this.#turnId === '' || textAt(params, 'turnId') !== this.#turnId) {
      this.#before = total;
      this.#newest = total;
      return;
    }
    // A resumed thread that did not say its total first: the newest reply is subtracted instead.
    if (this.#before === null && this.#turn.resume)
      this.#before = less(total, objectAt(usage, 'last'));
    this.#newest = total;
  }

  #limits(limits: Json): void {
    const full = [objectAt(limits, 'primary'), objectAt(limits, 'secondary')].filter(
      (window) => numberAt(window, 'usedPercent') >= 100,
    );
    const times = full.map((window) => numberAt(window, 'resetsAt')).filter((time) => time > 0);
    this.#resetsAt = times.length > 0 ? Math.max(...times) : undefined;
  }

  #completed(turn: Json, emittedAt: number): Step {
    if (this.#turnId !== '' && textAt(turn, 'id') !== this.#turnId) return NOTHING;
    const status = textAt(turn, 'status');
    if (status === 'completed') return this.#end({ outcome: 'succeeded' });
    if (status === 'interrupted') return this.#end({ outcome: 'cancelled' });
    const error = objectAt(turn, 'error');
    const reported: ReportedError = {
      message: textAt(error, 'message') || `the turn ended as "${status}"`,
      status: statusOf(error['codexErrorInfo']),
      resetsAt: this.#resetsAt,
      saidAtMilliseconds: emittedAt || undefined,
    };
    return this.#end({ outcome: 'failed', error: turnError(reported) });
  }

  #usage(): Usage {
    const used = less(this.#newest, this.#before ?? {});
    return {
      input_tokens: numberAt(used, 'inputTokens'),
      output_tokens: numberAt(used, 'outputTokens'),
      cached_tokens: numberAt(used, 'cachedInputTokens'),
    };
  }

  #end(end: Pick<TurnResult, 'outcome' | 'error'>): Step {
    this.#ended = { ...end, summary: this.#summary, usage: this.#usage() };
    return only({ type: 'ended', result: this.#ended });
  }
}

function only(event: HarnessEvent): Step {
  return { events: [event], inputs: [] };
}

function request(key: string, id: number, method: string, params: Json): ProtocolInput {
  return { key, line: JSON.stringify({ id, method, params }) };
}

function less(total: Json, part: Json): Json {
  const keys = ['inputTokens', 'outputTokens', 'cachedInputTokens'];
  return Object.fromEntries(
    keys.map((key) => [key, Math.max(0, numberAt(total, key) - numberAt(part, key))]),
  );
}

/** The error's name is a string, or the key of an object that holds the HTTP status. */
function statusOf(name: unknown): number | undefined {
  if (typeof name === 'string') return STATUS_OF[name];
  if (!isJson(name)) return undefined;
  const [key, detail] = Object.entries(name)[0] ?? [];
  const status = isJson(detail) ? numberAt(detail, 'httpStatusCode') : 0;
  return status > 0 ? status : STATUS_OF[key ?? ''];
}

/** "Reconnecting... 1/5" with the reason beside it. */
function retrying(error: Json): HarnessEvent {
  const message = textAt(error, 'message');
  const attempt = Number(/(\d+)\/\d+/.exec(message)?.[1] ?? 1);
  return { type: 'retrying', attempt, reason: textAt(error, 'additionalDetails') || message };
}

/** Requests of the server; each must be answered or the turn stands still. */
function serverRequest(json: Json, method: string): Step {
  const id = json['id'];
  const key = `answer:${String(id)}`;
  const answer = (body: Json): ProtocolInput => ({ key, line: JSON.stringify({ id, ...body }) });
  if (method.endsWith('/requestApproval')) {
    return { events: [], inputs: [answer({ result: { decision: 'accept' } })] };
  }
  if (method === 'item/tool/requestUserInput') {
    const questions = objectAt(json, 'params')['questions'];
    const asked = Array.isArray(questions) ? questions.filter(isJson) : [];
    const answers = Object.fromEntries(
      asked.map((question) => [textAt(question, 'id'), { answers: [NOBODY_ANSWERS] }]),
    );
    const text = asked.map((question) => textAt(question, 'question')).join('\n');
    return {
      events: [{ type: 'notice', text: `The agent asked: ${text}` }],
      inputs: [answer({ result: { answers } })],
    };
  }
  const error = { code: -32_601, message: `hangar does not answer ${method}` };
  return { events: [], inputs: [answer({ error })] };
}
