/** One turn over `pi --mode rpc`: a JSON object a line, both ways. */
import type {
  HarnessEvent,
  ProtocolInput,
  TurnProtocol,
  TurnResult,
  TurnSpec,
  Usage,
} from '../harness-adapter.ts';
import {
  boundedOutput,
  contentText,
  numberAt,
  objectAt,
  parseJson,
  textAt,
  type Json,
} from '../json-line.ts';
import { NotLive } from '../not-live.ts';
import { processResult, turnError } from '../turn-error.ts';

interface Step {
  events: HarnessEvent[];
  inputs: ProtocolInput[];
}

const NOTHING: Step = { events: [], inputs: [] };
const LOST = /No session found|not a valid pi session|working directory does not exist|Fork this/i;
/** Tools whose success means that a file of the tree changed. */
const WRITING_TOOLS = new Set(['write', 'edit']);
/** Dialogs an extension may open; nobody is there to answer, so each is cancelled at once. */
const DIALOGS = new Set(['select', 'confirm', 'input', 'editor']);

export class PiProtocol extends NotLive implements TurnProtocol {
  readonly #turn: TurnSpec;
  readonly #written = new Map<string, string>();
  #usage: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0 };
  #summary = '';
  #lastMessage: Json | null = null;
  #ended: TurnResult | null = null;
  #isInterrupted = false;

  constructor(turn: TurnSpec) {
    super();
    this.#turn = turn;
  }

  open(): ProtocolInput[] {
    const message = piText(this.#turn.prompt);
    return [
      { key: 'state', line: JSON.stringify({ id: 'state', type: 'get_state' }) },
      { key: 'prompt', line: JSON.stringify({ id: 'prompt', type: 'prompt', message }) },
    ];
  }

  line(line: string): Step {
    const json = parseJson(line);
    if (json === null || this.#ended !== null) return NOTHING;
    switch (json['type']) {
      case 'response':
        return this.#response(json);
      case 'message_update':
        return this.#update(objectAt(json, 'assistantMessageEvent'));
      case 'message_end':
        return this.#message(objectAt(json, 'message'));
      case 'tool_execution_start':
        return this.#toolStarted(json);
      case 'tool_execution_end':
        return this.#toolFinished(json);
      case 'auto_retry_start':
        return only(retrying(json));
      case 'compaction_start':
        return only({ type: 'notice', text: 'The conversation is being compacted.' });
      case 'extension_error':
        return only({ type: 'notice', text: `Extension failed: ${textAt(json, 'error')}` });
      case 'extension_ui_request':
        return dialog(json);
      case 'agent_settled':
        return this.#settled(json['aborted'] === true);
      default:
        return NOTHING;
    }
  }

  override interrupt(): ProtocolInput[] {
    this.#isInterrupted = true;
    return [{ key: 'abort', line: JSON.stringify({ id: 'abort', type: 'abort' }) }];
  }

  close(): ProtocolInput[] {
    return [{ key: 'eof', line: 'eof' }];
  }

  exited(exit: { code: number | null; signal: string | null }, stderr: string): TurnResult {
    if (this.#ended !== null) return this.#ended;
    return processResult('pi', exit, stderr, {
      summary: this.#summary,
      usage: this.#usage,
      isInterrupted: this.#isInterrupted,
      lost: LOST,
    });
  }

  #response(json: Json): Step {
    const command = textAt(json, 'command');
    const isSuccess = json['success'] === true;
    if (command === 'get_state' && isSuccess) {
      const id = textAt(objectAt(json, 'data'), 'sessionId');
      return id === '' ? NOTHING : only({ type: 'conversation', id });
    }
    if (command === 'prompt' && isSuccess) {
      return only({ type: 'delivered', messageId: this.#turn.messageId });
    }
    if (command === 'prompt' || command === 'parse') {
      return this.#end({ outcome: 'failed', error: turnError({ message: textAt(json, 'error') }) });
    }
    return NOTHING;
  }

  #update(event: Json): Step {
    if (event['type'] !== 'text_delta') return NOTHING;
    return only({ type: 'text_delta', text: textAt(event, 'delta') });
  }

  #message(message: Json): Step {
    if (message['role'] !== 'assistant') return NOTHING;
    this.#lastMessage = message;
    this.#usage = addedUsage(this.#usage, objectAt(message, 'usage'));
    const text = contentText(message['content']);
    // What a cut or aborted reply left behind is not what the assistant meant to say.
    if (text === '' || isFailed(message)) return NOTHING;
    this.#summary = text;
    return only({ type: 'message', role: 'assistant', text });
  }

  #toolStarted(json: Json): Step {
    const id = textAt(json, 'toolCallId');
    const name = textAt(json, 'toolName');
    const path = textAt(objectAt(json, 'args'), 'path');
    if (WRITING_TOOLS.has(name) && path !== '') this.#written.set(id, path);
    return only({ type: 'tool_started', id, name, input: json['args'] });
  }

  #toolFinished(json: Json): Step {
    const id = textAt(json, 'toolCallId');
    const result = objectAt(json, 'result');
    const isError = json['isError'] === true;
    const exitCode = objectAt(result, 'structuredContent')['exit_code'];
    const output = boundedOutput(contentText(result['content']));
    const events: HarnessEvent[] = [
      {
        type: 'tool_finished',
        id,
        output,
        isError,
        ...(typeof exitCode === 'number' ? { exitCode } : {}),
      },
    ];
    const path = this.#written.get(id);
    this.#written.delete(id);
    if (path !== undefined && !isError) {
      events.push({ type: 'file_changed', path, change: 'updated' });
    }
    return { events, inputs: [] };
  }

  #settled(isAborted: boolean): Step {
    if (isAborted) return this.#end({ outcome: 'cancelled' });
    const message = this.#lastMessage ?? {};
    const reason = textAt(message, 'stopReason');
    if (reason === 'aborted') return this.#end({ outcome: 'cancelled' });
    if (reason === 'stop') return this.#end({ outcome: 'succeeded' });
    const error = turnError({
      message: textAt(message, 'errorMessage') || `the turn ended with "${reason || 'no reply'}"`,
      saidAtMilliseconds: numberAt(message, 'timestamp') || undefined,
    });
    return this.#end({ outcome: 'failed', error });
  }

  #end(end: Pick<TurnResult, 'outcome' | 'error'>): Step {
    this.#ended = { ...end, summary: this.#summary, usage: this.#usage };
    return only({ type: 'ended', result: this.#ended });
  }
}

function only(event: HarnessEvent): Step {
  return { events: [event], inputs: [] };
}

/** A leading `/` would be looked up among templates and skills: a space makes it plain text. */
export function piText(prompt: string): string {
  return prompt.startsWith('/') ? ` ${prompt}` : prompt;
}

function isFailed(message: Json): boolean {
  return message['stopReason'] === 'error' || message['stopReason'] === 'aborted';
}

function addedUsage(sum: Usage, usage: Json): Usage {
  const cached = numberAt(usage, 'cacheRead');
  const input = numberAt(usage, 'input') + numberAt(usage, 'cacheWrite') + cached;
  return {
    input_tokens: sum.input_tokens + input,
    output_tokens: sum.output_tokens + numberAt(usage, 'output'),
    cached_tokens: sum.cached_tokens + cached,
    cost_usd: (sum.cost_usd ?? 0) + numberAt(objectAt(usage, 'cost'), 'total'),
  };
}

function retrying(json: Json): HarnessEvent {
  return {
    type: 'retrying',
    attempt: numberAt(json, 'attempt'),
    reason: textAt(json, 'errorMessage'),
    delayMs: numberAt(json, 'delayMs'),
  };
}

function dialog(json: Json): Step {
  if (!DIALOGS.has(textAt(json, 'method'))) return NOTHING;
  const id = textAt(json, 'id');
  const line = JSON.stringify({ type: 'extension_ui_response', id, cancelled: true });
  const text = `An extension asked "${textAt(json, 'title')}"; nobody could answer.`;
  return { events: [{ type: 'notice', text }], inputs: [{ key: `dialog:${id}`, line }] };
}
