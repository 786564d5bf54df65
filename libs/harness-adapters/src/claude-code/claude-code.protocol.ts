/** One turn over `claude -p` with stream-json both ways and its control protocol. */
import { answeredText } from '../answered-text.ts';
import type {
  Answer,
  HarnessEvent,
  ProtocolInput,
  ProtocolStep,
  TurnProtocol,
  TurnResult,
  TurnSpec,
  Usage,
} from '../harness-adapter.ts';
import { listAt, numberAt, objectAt, parseJson, textAt, type Json } from '../json-line.ts';
import { processResult, turnError } from '../turn-error.ts';
import { Asks } from './claude-code.asks.ts';
import { controlRequest } from './claude-code.control.ts';
import { Inbox } from './claude-code.inbox.ts';
import { assistantEvents, toolResultEvents } from './claude-code.messages.ts';

const NOTHING: ProtocolStep = { events: [], inputs: [] };
const LOST = /No conversation found/i;
const FINISHED_TASK = new Set(['completed', 'failed', 'stopped', 'killed']);

export class ClaudeCodeProtocol implements TurnProtocol {
  readonly #turn: TurnSpec;
  readonly #inbox: Inbox;
  readonly #asks: Asks;
  /** Subagents in the background: the turn goes on by itself when one is done. */
  readonly #agents = new Set<string>();
  /** The newest reply of the model: a call that is not alone in it cannot be deferred. */
  #reply: { calls: string[]; isWhole: boolean } | null = null;
  #usage: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0 };
  /** The program counts dollars over the whole conversation: what it said before this turn. */
  #dollarsBefore = 0;
  #summary = '';
  #resetsAt: number | undefined;
  #isAtWork = false;
  /** It is idle and nothing goes on by itself: the end when every message is settled. */
  #isOver = false;
  #isInterrupted = false;
  /** What is asked from then on is deferred: it does not matter which of the two came first. */
  #isDeferring = false;
  #hasDeferred = false;
  #outcome: Pick<TurnResult, 'outcome' | 'error'> | null = null;
  #ended: TurnResult | null = null;

  constructor(turn: TurnSpec) {
    this.#turn = turn;
    this.#inbox = new Inbox(turn);
    this.#asks = new Asks(turn);
  }

  open(): ProtocolInput[] {
    const { prompt, answered } = this.#turn;
    return [
      controlRequest('initialize', 'initialize', this.#asks.hooks()),
      controlRequest('usage', 'get_usage'),
      // The program goes on with what it had asked by itself, and is answered then.
      ...(answered === null ? [this.#inbox.opening(prompt)] : []),
    ];
  }

  line(line: string): ProtocolStep {
    const json = parseJson(line);
    if (json === null || this.#ended !== null) return NOTHING;
    const { events, inputs } = this.#read(json);
    return { events: [...events, ...this.#end()], inputs };
  }

  #read(json: Json): ProtocolStep {
    // Lines of a subagent are its own conversation; its result comes as a tool result.
    if (textAt(json, 'parent_tool_use_id') !== '') return NOTHING;
    switch (json['type']) {
      case 'system':
        return this.#system(json);
      case 'command_lifecycle':
        return saying(this.#inbox.lifecycle(json));
      case 'stream_event':
        return this.#stream(objectAt(json, 'event'));
      case 'assistant':
        return saying(this.#assistant(json));
      case 'user':
        return saying(
          json['isReplay'] === true ? this.#inbox.replay(json) : toolResultEvents(json),
        );
      case 'rate_limit_event':
        this.#resetsAt = resetTime(objectAt(json, 'rate_limit_info'));
        return NOTHING;
      case 'control_response':
        return this.#responded(objectAt(json, 'response'));
      case 'control_request': {
        const { events, inputs } = this.#asks.request(json);
        return { events, inputs: [...inputs, ...this.#deferOpen()] };
      }
      case 'control_cancel_request':
        return saying(this.#askClosed(textAt(json, 'request_id')));
      case 'result':
        this.#result(json);
        return NOTHING;
      default:
        return NOTHING;
    }
  }

  steer(message: { messageId: string; text: string }): ProtocolStep {
    if (this.#ended === null) return this.#inbox.steer(message);
    return saying([{ type: 'returned', messageId: message.messageId }]);
  }

  withdraw(messageId: string): ProtocolStep {
    return this.#ended === null ? this.#inbox.withdraw(messageId) : NOTHING;
  }

  answer(askId: string, answer: Answer): ProtocolStep {
    return this.#isDeferring ? NOTHING : this.#asks.answer(askId, answer);
  }

  defer(): ProtocolStep {
    this.#isDeferring = true;
    return { events: [], inputs: this.#deferOpen() };
  }

  interrupt(): ProtocolInput[] {
    this.#isInterrupted = true;
    return this.#interrupt();
  }

  close(): ProtocolInput[] {
    return [{ key: 'eof', line: 'eof' }];
  }

  exited(exit: { code: number | null; signal: string | null }, stderr: string): TurnResult {
    if (this.#ended !== null) return this.#ended;
    const known = { summary: this.#summary, usage: this.#usage };
    if (this.#outcome !== null && !this.#inbox.isRoundOpen) return { ...this.#outcome, ...known };
    const isInterrupted = this.#isInterrupted;
    return processResult('claude', exit, stderr, { ...known, isInterrupted, lost: LOST });
  }

  #system(json: Json): ProtocolStep {
    switch (json['subtype']) {
      case 'init':
        return saying([{ type: 'conversation', id: textAt(json, 'session_id') }]);
      case 'api_retry':
        return saying([retrying(json)]);
      case 'compact_boundary':
        return saying([{ type: 'notice', text: 'The conversation was compacted.' }]);
      case 'task_started':
        if (json['task_type'] === 'local_agent') this.#agents.add(textAt(json, 'task_id'));
        return NOTHING;
      case 'task_updated':
      case 'task_notification':
        if (FINISHED_TASK.has(textAt(json, 'status'))) this.#agents.delete(textAt(json, 'task_id'));
        return NOTHING;
      case 'session_state_changed':
        return this.#state(textAt(json, 'state'));
      default:
        return NOTHING;
    }
  }

  #assistant(json: Json): HarnessEvent[] {
    const content = listAt(objectAt(json, 'message'), 'content');
    const calls = content.filter((block) => block['type'] === 'tool_use');
    this.#reply?.calls.push(...calls.map((call) => textAt(call, 'id')));
    const events = assistantEvents(json);
    const text = events.findLast((event) => event.type === 'message')?.text;
    if (text !== undefined) this.#summary = text;
    return events;
  }

  #stream(event: Json): ProtocolStep {
    switch (event['type']) {
      case 'message_start':
        this.#reply = { calls: [], isWhole: false };
        return NOTHING;
      case 'message_stop':
        if (this.#reply !== null) this.#reply.isWhole = true;
        return { events: [], inputs: this.#deferOpen() };
      case 'content_block_delta':
        return saying(textDelta(objectAt(event, 'delta')));
      default:
        return NOTHING;
    }
  }

  #responded(response: Json): ProtocolStep {
    const requestId = textAt(response, 'request_id');
    if (requestId === 'hangar-usage') return { events: [], inputs: this.#usageBefore(response) };
    return saying([...this.#inbox.response(response), ...this.#askClosed(requestId)]);
  }

  /** By then a program that asks again has begun to; else the answer is told in words. */
  #usageBefore(response: Json): ProtocolInput[] {
    const session = objectAt(objectAt(response, 'response'), 'session');
    this.#dollarsBefore = numberAt(session, 'total_cost_usd');
    const { answered } = this.#turn;
    return answered === null || this.#isAtWork ? [] : [this.#inbox.opening(answeredText(answered))];
  }

  #askClosed(requestId: string): HarnessEvent[] {
    return this.#asks
      .closed(requestId)
      .flatMap((event) =>
        event.type === 'ask_closed' && event.id === this.#turn.answered?.ask.id
          ? this.#inbox.answered()
          : [event],
      );
  }

  /**
   * The program keeps a call that is put off, but only one that is alone in its reply: beside it,
   * others would be lost. Then it is interrupted, and the answer is told in words later.
   */
  #deferOpen(): ProtocolInput[] {
    const [first, ...others] = this.#asks.waiting();
    if (!this.#isDeferring || this.#hasDeferred || first === undefined) return [];
    const { askId, isDeferrable } = first;
    // Without a reply in this turn, it is the call that the turn before was deferred on.
    const { calls, isWhole } = this.#reply ?? { calls: [askId], isWhole: true };
    const isAlone = isDeferrable && others.length === 0 && calls.length <= 1;
    if (isAlone && !isWhole) return [];
    this.#hasDeferred = true;
    if (!isAlone || calls[0] !== askId) return this.#interrupt();
    return [...this.#inbox.close(), ...this.#asks.defer(askId)];
  }

  /** A message that waits would begin another round by itself. */
  #interrupt(): ProtocolInput[] {
    return [...this.#inbox.close(), controlRequest('interrupt', 'interrupt')];
  }

  /** Not yet the end: a background subagent that finishes starts another round by itself. */
  #result(json: Json): void {
    const used = objectAt(json, 'usage');
    const cached = numberAt(used, 'cache_read_input_tokens');
    const written = numberAt(used, 'cache_creation_input_tokens');
    const sum = this.#usage;
    this.#usage = {
      input_tokens: sum.input_tokens + numberAt(used, 'input_tokens') + cached + written,
      output_tokens: sum.output_tokens + numberAt(used, 'output_tokens'),
      cached_tokens: sum.cached_tokens + cached,
      cost_usd: Math.max(0, numberAt(json, 'total_cost_usd') - this.#dollarsBefore),
    };
    this.#outcome = this.#judged(json);
    this.#inbox.result();
    const isSucceeded = this.#outcome.outcome === 'succeeded';
    if (isSucceeded) this.#summary = textAt(json, 'result') || this.#summary;
  }

  #judged(json: Json): Pick<TurnResult, 'outcome' | 'error'> {
    if (json['stop_reason'] === 'tool_deferred') return { outcome: 'deferred' };
    if (json['is_error'] !== true) return { outcome: 'succeeded' };
    if (textAt(json, 'terminal_reason').startsWith('aborted')) {
      return { outcome: this.#hasDeferred && !this.#isInterrupted ? 'deferred' : 'cancelled' };
    }
    const errors = json['errors'];
    const listed = Array.isArray(errors) ? errors.filter((each) => typeof each === 'string') : [];
    const message = textAt(json, 'result') || listed.join('\n') || textAt(json, 'subtype');
    if (LOST.test(message)) {
      return { outcome: 'failed', error: { kind: 'conversation_lost', message } };
    }
    const status = numberAt(json, 'api_error_status') || undefined;
    return { outcome: 'failed', error: turnError({ message, status, resetsAt: this.#resetsAt }) };
  }

  #state(state: string): ProtocolStep {
    this.#isOver = false;
    if (state === 'running') this.#isAtWork = true;
    if (state !== 'idle') return NOTHING;
    if (this.#outcome === null && this.#inbox.isRefused) {
      const message = 'Claude Code has had this message before and did not run it again.';
      this.#outcome = { outcome: 'failed', error: { kind: 'unknown', message } };
    }
    if (this.#outcome === null && this.#inbox.isOpeningBack)
      this.#outcome = { outcome: 'cancelled' };
    // What came as the turn ended is called back, or has begun another round.
    this.#isOver = this.#outcome !== null && this.#agents.size === 0;
    const isLate = this.#isOver && this.#inbox.hasWaiting && !this.#inbox.isOpeningWaiting;
    return { events: [], inputs: isLate ? this.#inbox.close() : [] };
  }

  #end(): HarnessEvent[] {
    const outcome = this.#outcome;
    // A conversation that is not there is refused before any round begins: nothing follows.
    const isLost = outcome?.error?.kind === 'conversation_lost';
    const isSettled = !this.#inbox.hasWaiting && !this.#inbox.isRoundOpen;
    if (outcome === null || !(isLost || (this.#isOver && isSettled))) return [];
    this.#ended = { ...outcome, summary: this.#summary, usage: this.#usage };
    return [{ type: 'ended', result: this.#ended }];
  }
}

function saying(events: HarnessEvent[]): ProtocolStep {
  return { events, inputs: [] };
}

function textDelta(delta: Json): HarnessEvent[] {
  if (delta['type'] !== 'text_delta') return [];
  return [{ type: 'text_delta', text: textAt(delta, 'text') }];
}

function retrying(json: Json): HarnessEvent {
  const status = numberAt(json, 'error_status');
  const reason = status > 0 ? `${status} ${textAt(json, 'error')}` : textAt(json, 'error');
  const delayMs = numberAt(json, 'retry_delay_ms');
  return { type: 'retrying', attempt: numberAt(json, 'attempt'), reason, delayMs };
}

function resetTime(limit: Json): number | undefined {
  return limit['status'] === 'rejected' ? numberAt(limit, 'resetsAt') || undefined : undefined;
}
