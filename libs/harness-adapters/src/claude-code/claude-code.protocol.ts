/** One turn over `claude -p` with stream-json both ways and its control protocol. */
import { deriveUuid } from '@hangar/contracts';
import type {
  HarnessEvent,
  ProtocolInput,
  TurnProtocol,
  TurnResult,
  TurnSpec,
  Usage,
} from '../harness-adapter.ts';
import { numberAt, objectAt, parseJson, textAt, type Json } from '../json-line.ts';
import { NotLive } from '../not-live.ts';
import { processResult, turnError } from '../turn-error.ts';
import { answerControl, controlRequest } from './claude-code.control.ts';
import { assistantEvents, toolResultEvents } from './claude-code.messages.ts';

interface Step {
  events: HarnessEvent[];
  inputs: ProtocolInput[];
}

const NOTHING: Step = { events: [], inputs: [] };
const LOST = /No conversation found/i;
const FINISHED_TASK = new Set(['completed', 'failed', 'stopped', 'killed']);

export class ClaudeCodeProtocol extends NotLive implements TurnProtocol {
  readonly #turn: TurnSpec;
  readonly #messageUuid: string;
  /** Subagents in the background: the turn goes on by itself when one is done. */
  readonly #agents = new Set<string>();
  #usage: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0 };
  /** The program counts dollars over the whole conversation: what it said before this turn. */
  #dollarsBefore = 0;
  #summary = '';
  #resetsAt: number | undefined;
  #isDelivered = false;
  #isStarted = false;
  /** A message whose id is in the conversation already is "completed" without being started. */
  #isRefused = false;
  #isInterrupted = false;
  #outcome: Pick<TurnResult, 'outcome' | 'error'> | null = null;
  #ended: TurnResult | null = null;

  constructor(turn: TurnSpec) {
    super();
    this.#turn = turn;
    this.#messageUuid = deriveUuid('claude-code-message', turn.runId, turn.messageId);
  }

  open(): ProtocolInput[] {
    const message = { role: 'user', content: claudeText(this.#turn.prompt) };
    const line = { type: 'user', message, uuid: this.#messageUuid };
    return [
      controlRequest('initialize', 'initialize'),
      controlRequest('usage', 'get_usage'),
      { key: 'prompt', line: JSON.stringify(line) },
    ];
  }

  line(line: string): Step {
    const json = parseJson(line);
    if (json === null || this.#ended !== null) return NOTHING;
    // Lines of a subagent are its own conversation; its result comes as a tool result.
    if (textAt(json, 'parent_tool_use_id') !== '') return NOTHING;
    switch (json['type']) {
      case 'system':
        return this.#system(json);
      case 'command_lifecycle':
        return json['command_uuid'] === this.#messageUuid ? this.#lifecycle(json) : NOTHING;
      case 'stream_event':
        return textDelta(objectAt(json, 'event'));
      case 'assistant':
        return this.#assistant(json);
      case 'user':
        if (json['isReplay'] === true) {
          return json['uuid'] === this.#messageUuid ? this.#delivered() : NOTHING;
        }
        return { events: toolResultEvents(json), inputs: [] };
      case 'rate_limit_event':
        this.#resetsAt = resetTime(objectAt(json, 'rate_limit_info'));
        return NOTHING;
      case 'control_response':
        this.#answered(objectAt(json, 'response'));
        return NOTHING;
      case 'control_request':
        return answerControl(json);
      case 'result':
        return this.#result(json);
      default:
        return NOTHING;
    }
  }

  override interrupt(): ProtocolInput[] {
    this.#isInterrupted = true;
    return [controlRequest('interrupt', 'interrupt')];
  }

  close(): ProtocolInput[] {
    return [{ key: 'eof', line: 'eof' }];
  }

  exited(exit: { code: number | null; signal: string | null }, stderr: string): TurnResult {
    if (this.#ended !== null) return this.#ended;
    const known = { summary: this.#summary, usage: this.#usage };
    if (this.#outcome !== null) return { ...this.#outcome, ...known };
    const isInterrupted = this.#isInterrupted;
    return processResult('claude', exit, stderr, { ...known, isInterrupted, lost: LOST });
  }

  #system(json: Json): Step {
    switch (json['subtype']) {
      case 'init':
        return only({ type: 'conversation', id: textAt(json, 'session_id') });
      case 'api_retry':
        return only(retrying(json));
      case 'compact_boundary':
        return only({ type: 'notice', text: 'The conversation was compacted.' });
      case 'task_started':
        if (json['task_type'] === 'local_agent') this.#agents.add(textAt(json, 'task_id'));
        return NOTHING;
      case 'task_updated':
      case 'task_notification':
        if (FINISHED_TASK.has(textAt(json, 'status'))) this.#agents.delete(textAt(json, 'task_id'));
        return NOTHING;
      case 'session_state_changed':
        return json['state'] === 'idle' ? this.#idle() : NOTHING;
      default:
        return NOTHING;
    }
  }

  #lifecycle(json: Json): Step {
    this.#isRefused = json['state'] === 'completed' && !this.#isStarted;
    if (json['state'] !== 'started') return NOTHING;
    this.#isStarted = true;
    return this.#delivered();
  }

  #delivered(): Step {
    if (this.#isDelivered) return NOTHING;
    this.#isDelivered = true;
    return only({ type: 'delivered', messageId: this.#turn.messageId });
  }

  #assistant(json: Json): Step {
    const events = assistantEvents(json);
    const text = events.findLast((event) => event.type === 'message')?.text;
    if (text !== undefined) this.#summary = text;
    return { events, inputs: [] };
  }

  #answered(response: Json): void {
    if (textAt(response, 'request_id') !== 'hangar-usage') return;
    const session = objectAt(objectAt(response, 'response'), 'session');
    this.#dollarsBefore = numberAt(session, 'total_cost_usd');
  }

  /** Not yet the end: a background subagent that finishes starts another round by itself. */
  #result(json: Json): Step {
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
    const isSucceeded = this.#outcome.outcome === 'succeeded';
    if (isSucceeded) this.#summary = textAt(json, 'result') || this.#summary;
    // A conversation that is not there is refused before any round begins: nothing follows.
    return this.#outcome.error?.kind === 'conversation_lost' ? this.#end(this.#outcome) : NOTHING;
  }

  #judged(json: Json): Pick<TurnResult, 'outcome' | 'error'> {
    if (json['is_error'] !== true) return { outcome: 'succeeded' };
    if (textAt(json, 'terminal_reason').startsWith('aborted')) return { outcome: 'cancelled' };
    const errors = json['errors'];
    const listed = Array.isArray(errors) ? errors.filter((each) => typeof each === 'string') : [];
    const message = textAt(json, 'result') || listed.join('\n') || textAt(json, 'subtype');
    if (LOST.test(message)) {
      return { outcome: 'failed', error: { kind: 'conversation_lost', message } };
    }
    const status = numberAt(json, 'api_error_status') || undefined;
    return { outcome: 'failed', error: turnError({ message, status, resetsAt: this.#resetsAt }) };
  }

  #idle(): Step {
    if (this.#outcome === null && this.#isRefused) {
      const message = 'Claude Code has had this message before and did not run it again.';
      return this.#end({ outcome: 'failed', error: { kind: 'unknown', message } });
    }
    if (this.#outcome === null || this.#agents.size > 0) return NOTHING;
    return this.#end(this.#outcome);
  }

  #end(outcome: Pick<TurnResult, 'outcome' | 'error'>): Step {
    this.#ended = { ...outcome, summary: this.#summary, usage: this.#usage };
    return only({ type: 'ended', result: this.#ended });
  }
}

function only(event: HarnessEvent): Step {
  return { events: [event], inputs: [] };
}

/** A leading `/` is a command of the program and never reaches the model: a space hides it. */
export function claudeText(prompt: string): string {
  return prompt.startsWith('/') ? ` ${prompt}` : prompt;
}

function textDelta(event: Json): Step {
  const delta = objectAt(event, 'delta');
  if (event['type'] !== 'content_block_delta' || delta['type'] !== 'text_delta') return NOTHING;
  return only({ type: 'text_delta', text: textAt(delta, 'text') });
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
