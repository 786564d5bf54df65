/** One turn over `codex app-server` on stdio: JSON-RPC, an object a line, both ways. */
import { answeredText } from '../answered-text.ts';
import type {
  Answer,
  Ask,
  HarnessEvent,
  ProtocolInput,
  ProtocolStep,
  TurnProtocol,
  TurnResult,
  TurnSpec,
  Usage,
} from '../harness-adapter.ts';
import { isJson, numberAt, objectAt, parseJson, textAt, type Json } from '../json-line.ts';
import { OpenAsks } from '../open-asks.ts';
import { processResult, turnError, type ReportedError } from '../turn-error.ts';
import { codexAsk, type CodexAsk } from './codex.asks.ts';
import { itemCompleted, itemStarted } from './codex.items.ts';
import { CodexSteers, steerInput, textInput } from './codex.steers.ts';
import { CodexTools } from './codex.tools.ts';

const NOTHING: ProtocolStep = { events: [], inputs: [] };
/** Ids of our requests; the server's own requests count from 0 apart. */
const INITIALIZE = 1;
const THREAD = 2;
const TURN = 3;
const INTERRUPT = 4;
const ALLOW: Answer = { verdict: 'allow', answers: {}, reason: '' };
const RESOLVED = 'serverRequest/resolved';
/** HTTP status that an error name stands for, where Codex gives no number. */
const STATUS_OF: Record<string, number> = {
  usageLimitExceeded: 429,
  unauthorized: 401,
  badRequest: 400,
  contextWindowExceeded: 400,
  serverOverloaded: 529,
  internalServerError: 500,
};
export class CodexProtocol implements TurnProtocol {
  readonly #turn: TurnSpec;
  readonly #steers = new CodexSteers();
  readonly #tools = new CodexTools();
  readonly #asks = new OpenAsks(() => this.#stop());
  /** Asks by the id of the server's request. */
  readonly #requests = new Map<unknown, Ask>();
  #threadId = '';
  #turnId = '';
  #summary = '';
  /** Usage counts over the whole thread: the total before this turn, and the newest. */
  #before: Json | null = null;
  #newest: Json = {};
  #resetsAt: number | undefined;
  #isRunning = false;
  #isDelivered = false;
  #isStopped = false;
  #isInterrupted = false;
  /** Codex said that the turn is over; `ended` waits until every message is settled. */
  #result: TurnResult | null = null;
  #isEnded = false;

  constructor(turn: TurnSpec) {
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

  line(line: string): ProtocolStep {
    const json = parseJson(line);
    if (json === null || this.#isEnded) return NOTHING;
    const { events, inputs } = this.#read(json);
    return {
      events: [...events, ...this.#end()],
      inputs: [...inputs, ...(this.#takesMessages() ? this.#steers.write(this.#ids()) : [])],
    };
  }

  steer({ messageId, text }: { messageId: string; text: string }): ProtocolStep {
    if (!this.#steers.add(messageId, text)) return NOTHING;
    if (this.#result !== null) return { events: this.#steers.turnOver(), inputs: [] };
    return { events: [], inputs: this.#takesMessages() ? this.#steers.write(this.#ids()) : [] };
  }

  withdraw(messageId: string): ProtocolStep {
    return { events: [], inputs: this.#steers.withdraw(messageId) };
  }

  answer(askId: string, answer: Answer): ProtocolStep {
    return this.#asks.answer(askId, answer);
  }

  defer(): ProtocolStep {
    return this.#asks.defer();
  }

  interrupt(): ProtocolInput[] {
    this.#isInterrupted = true;
    return this.#stop();
  }

  close(): ProtocolInput[] {
    return [{ key: 'eof', line: 'eof' }];
  }

  exited(exit: { code: number | null; signal: string | null }, stderr: string): TurnResult {
    if (this.#result !== null) return this.#result;
    const known = { summary: this.#summary, usage: this.#usage(), isInterrupted: this.#isStopped };
    const result = processResult('codex', exit, stderr, known);
    return this.#isStopped ? { ...result, outcome: this.#stopOutcome() } : result;
  }

  /** A message is applied at once in a turn that goes on and in which no tool runs. */
  #takesMessages(): boolean {
    return this.#isDelivered && !this.#isStopped && this.#result === null && this.#tools.isIdle;
  }

  #ids(): { threadId: string; turnId: string } {
    return { threadId: this.#threadId, turnId: this.#turnId };
  }

  #stop(): ProtocolInput[] {
    this.#isStopped = true;
    if (!this.#isRunning) return [];
    return [request('interrupt', INTERRUPT, 'turn/interrupt', this.#ids())];
  }

  #stopOutcome(): 'cancelled' | 'deferred' {
    return this.#asks.isDeferring && !this.#isInterrupted ? 'deferred' : 'cancelled';
  }

  #read(json: Json): ProtocolStep {
    const method = textAt(json, 'method');
    if (method === '') return this.#response(json);
    const params = objectAt(json, 'params');
    if ('id' in json) return this.#serverRequest(json['id'], method, params);
    const threadId = textAt(params, 'threadId');
    // Subagents are threads of their own in the same process.
    if (threadId !== '' && threadId !== this.#threadId && method !== RESOLVED) return NOTHING;
    return this.#notification(method, params, numberAt(json, 'emittedAtMs'));
  }

  #thread(): ProtocolInput {
    const { cwd, model, resume, conversationId } = this.#turn;
    const params = {
      cwd,
      approvalPolicy: this.#turn.asksLeave ? 'untrusted' : 'never',
      sandbox: 'danger-full-access',
      ...(model === null ? {} : { model }),
    };
    if (!resume) return request('thread', THREAD, 'thread/start', params);
    const resumed = { ...params, threadId: conversationId, excludeTurns: true };
    return request('thread', THREAD, 'thread/resume', resumed);
  }

  #response(json: Json): ProtocolStep {
    const id = json['id'];
    const settled = this.#steers.answered(id, json);
    if (settled !== null) return { events: settled, inputs: [] };
    if ('error' in json) return this.#refused(id, textAt(objectAt(json, 'error'), 'message'));
    const result = objectAt(json, 'result');
    if (id === THREAD) {
      this.#threadId = textAt(objectAt(result, 'thread'), 'id');
      const { prompt, answered, messageId } = this.#turn;
      const input = textInput(answered === null ? prompt : answeredText(answered));
      const params = { threadId: this.#threadId, clientUserMessageId: messageId, input };
      return {
        events: [{ type: 'conversation', id: this.#threadId }],
        inputs: [request('turn', TURN, 'turn/start', params)],
      };
    }
    if (id === TURN) {
      this.#turnId = textAt(objectAt(result, 'turn'), 'id');
    }
    return NOTHING;
  }

  /** A request of ours was refused: without a thread or a turn nothing more will come. */
  #refused(id: unknown, message: string): ProtocolStep {
    if (id !== INITIALIZE && id !== THREAD && id !== TURN) return NOTHING;
    const isLost = id === THREAD && this.#turn.resume;
    const error = isLost ? { kind: 'conversation_lost' as const, message } : turnError({ message });
    return this.#over({ outcome: 'failed', error });
  }

  #notification(method: string, params: Json, emittedAt: number): ProtocolStep {
    const item = objectAt(params, 'item');
    switch (method) {
      case 'turn/started':
        // Only now: an interrupt that comes earlier is refused.
        this.#isRunning = true;
        return { events: [], inputs: this.#isStopped ? this.#stop() : [] };
      case 'item/started':
        if (item['type'] === 'userMessage') return this.#delivered(textAt(item, 'clientId'));
        this.#tools.started(item);
        return { events: itemStarted(item), inputs: [] };
      case 'item/completed':
        this.#tools.finished(textAt(item, 'id'));
        if (item['type'] === 'agentMessage') this.#summary = textAt(item, 'text') || this.#summary;
        return { events: itemCompleted(item), inputs: [] };
      case 'item/agentMessage/delta':
        return only({ type: 'text_delta', text: textAt(params, 'delta') });
      case 'thread/tokenUsage/updated':
        // It comes with the end of a reply and its calls, before the model is asked again.
        this.#tools.replyEnded();
        this.#tokens(params);
        return NOTHING;
      case RESOLVED:
        return this.#resolved(params['requestId']);
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

  #delivered(messageId: string): ProtocolStep {
    if (messageId !== this.#turn.messageId) {
      return { events: this.#steers.delivered(messageId), inputs: [] };
    }
    this.#isDelivered = true;
    return only({ type: 'delivered', messageId });
  }

  /** Requests of the server; each must be answered or the turn stands still. */
  #serverRequest(id: unknown, method: string, params: Json): ProtocolStep {
    const tell = (body: Json): ProtocolInput => ({
      key: `answer:${String(id)}`,
      line: JSON.stringify({ id, ...body }),
    });
    const asked = codexAsk(method, params, this.#tools);
    if (asked !== null) return this.#asked(id, asked, params, tell);
    const error = { code: -32_601, message: `hangar does not answer ${method}` };
    return { events: [], inputs: [tell({ error })] };
  }

  #asked(
    id: unknown,
    { ask, result }: CodexAsk,
    params: Json,
    tell: (body: Json) => ProtocolInput,
  ): ProtocolStep {
    if (ask.kind === 'decision' && !this.#turn.asksLeave) {
      return { events: [], inputs: [tell({ result: result(ALLOW) })] };
    }
    this.#requests.set(id, ask);
    return this.#asks.asked(ask, (answer) => [
      ...reason(ask, answer, params),
      tell({ result: result(answer) }),
    ]);
  }

  /** Answered, or given up by Codex itself. */
  #resolved(requestId: unknown): ProtocolStep {
    const ask = this.#requests.get(requestId);
    if (!ask) return NOTHING;
    // A question is no item: this is all that says that its call is over.
    if (ask.kind === 'question') this.#tools.finished(ask.id);
    return { events: this.#asks.close(ask.id), inputs: [] };
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

  #completed(turn: Json, emittedAt: number): ProtocolStep {
    if (this.#turnId !== '' && textAt(turn, 'id') !== this.#turnId) return NOTHING;
    const status = textAt(turn, 'status');
    if (status === 'completed') return this.#over({ outcome: 'succeeded' });
    if (status === 'interrupted') return this.#over({ outcome: this.#stopOutcome() });
    const error = objectAt(turn, 'error');
    const reported: ReportedError = {
      message: textAt(error, 'message') || `the turn ended as "${status}"`,
      status: statusOf(error['codexErrorInfo']),
      resetsAt: this.#resetsAt,
      saidAtMilliseconds: emittedAt || undefined,
    };
    return this.#over({ outcome: 'failed', error: turnError(reported) });
  }

  #usage(): Usage {
    const used = less(this.#newest, this.#before ?? {});
    return {
      input_tokens: numberAt(used, 'inputTokens'),
      output_tokens: numberAt(used, 'outputTokens'),
      cached_tokens: numberAt(used, 'cachedInputTokens'),
    };
  }

  #over(end: Pick<TurnResult, 'outcome' | 'error'>): ProtocolStep {
    if (this.#result !== null) return NOTHING;
    this.#result = { ...end, summary: this.#summary, usage: this.#usage() };
    return { events: [...this.#asks.closeAll(), ...this.#steers.turnOver()], inputs: [] };
  }

  #end(): HarnessEvent[] {
    if (this.#result === null || this.#steers.isWaiting) return [];
    this.#isEnded = true;
    return [{ type: 'ended', result: this.#result }];
  }
}

/** Codex's approval has no reason: a message says it, which waits for the end of the call. */
function reason(ask: Ask, answer: Answer, params: Json): ProtocolInput[] {
  if (ask.kind === 'question' || answer.verdict === 'allow' || answer.reason === '') return [];
  const turn = { threadId: textAt(params, 'threadId'), turnId: textAt(params, 'turnId') };
  const text = `You may not «${ask.questions[0]?.text ?? ''}»: denied: ${answer.reason}`;
  return [steerInput(`reason:${ask.id}`, turn, text)];
}

function only(event: HarnessEvent): ProtocolStep {
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
