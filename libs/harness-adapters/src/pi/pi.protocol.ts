/** One turn over `pi --mode rpc`: a JSON object a line, both ways. */
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
import {
  boundedOutput,
  contentText,
  numberAt,
  objectAt,
  parseJson,
  textAt,
  type Json,
} from '../json-line.ts';
import { OpenAsks } from '../open-asks.ts';
import { processResult, turnError } from '../turn-error.ts';
import { dialogAsk, dialogValue } from './pi.asks.ts';
import { PiSteers } from './pi.steers.ts';

const NOTHING: ProtocolStep = { events: [], inputs: [] };
const LOST = /No session found|not a valid pi session|working directory does not exist|Fork this/i;
/** Tools whose success means that a file of the tree changed. */
const WRITING_TOOLS = new Set(['write', 'edit']);
/** Dialogs of any extension: an open one would hold the turn. */
const DIALOGS = new Set(['select', 'confirm', 'input', 'editor']);

export class PiProtocol implements TurnProtocol {
  readonly #turn: TurnSpec;
  readonly #steers = new PiSteers();
  readonly #asks = new OpenAsks(() => this.#stop());
  readonly #written = new Map<string, string>();
  #usage: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0 };
  #summary = '';
  #lastMessage: Json | null = null;
  /** pi has accepted the prompt, and then said it as the turn's first message. */
  #isStarted = false;
  #isPromptTaken = false;
  #isStopped = false;
  #isAborted = false;
  #isRunning = false;
  #isInterrupted = false;
  /** pi said that the turn is over; `ended` waits until every message is settled. */
  #result: TurnResult | null = null;
  #isEnded = false;

  constructor(turn: TurnSpec) {
    this.#turn = turn;
  }

  open(): ProtocolInput[] {
    const { prompt, answered } = this.#turn;
    const message = piText(answered === null ? prompt : answeredText(answered));
    return [
      { key: 'state', line: JSON.stringify({ id: 'state', type: 'get_state' }) },
      { key: 'prompt', line: JSON.stringify({ id: 'prompt', type: 'prompt', message }) },
    ];
  }

  line(line: string): ProtocolStep {
    const json = parseJson(line);
    if (json === null || this.#isEnded) return NOTHING;
    const { events, inputs } = this.#read(json);
    if (this.#result === null) {
      return { events, inputs: [...inputs, ...this.#messages(), ...this.#abort()] };
    }
    const over = this.#steers.turnOver();
    return {
      events: [...events, ...over.events, ...this.#end(this.#result)],
      inputs: [...inputs, ...over.inputs],
    };
  }

  steer({ messageId, text }: { messageId: string; text: string }): ProtocolStep {
    if (!this.#steers.add(messageId, piText(text))) return NOTHING;
    if (this.#result !== null) return this.#steers.turnOver();
    return { events: [], inputs: this.#messages() };
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
    const result = processResult('pi', exit, stderr, {
      summary: this.#summary,
      usage: this.#usage,
      isInterrupted: this.#isStopped,
      lost: LOST,
    });
    return this.#isStopped ? { ...result, outcome: this.#stopOutcome() } : result;
  }

  #read(json: Json): ProtocolStep {
    switch (json['type']) {
      case 'response':
        return this.#response(json);
      case 'agent_start':
        this.#isRunning = true;
        return NOTHING;
      case 'message_update':
        return this.#update(objectAt(json, 'assistantMessageEvent'));
      case 'message_start':
        return this.#taken(objectAt(json, 'message'));
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
        return this.#dialog(json);
      case 'agent_settled':
        return this.#settled(json['aborted'] === true);
      default:
        return NOTHING;
    }
  }

  #messages(): ProtocolInput[] {
    return this.#isStarted ? this.#steers.write() : [];
  }

  #stop(): ProtocolInput[] {
    this.#isStopped = true;
    return [...this.#steers.stop(), ...this.#abort()];
  }

  /**
   * `abort` puts what is in the queue into the conversation: it waits until that is back. And it
   * does nothing before the turn runs.
   */
  #abort(): ProtocolInput[] {
    const isDue = this.#isStopped && this.#isRunning && !this.#steers.isWriting;
    if (!isDue || this.#isAborted) return [];
    this.#isAborted = true;
    return [{ key: 'abort', line: JSON.stringify({ id: 'abort', type: 'abort' }) }];
  }

  #stopOutcome(): 'cancelled' | 'deferred' {
    return this.#asks.isDeferring && !this.#isInterrupted ? 'deferred' : 'cancelled';
  }

  #response(json: Json): ProtocolStep {
    const answered = this.#steers.answered(json);
    if (answered !== null) return answered;
    const command = textAt(json, 'command');
    const isSuccess = json['success'] === true;
    if (command === 'get_state' && isSuccess) {
      const id = textAt(objectAt(json, 'data'), 'sessionId');
      return id === '' ? NOTHING : only({ type: 'conversation', id });
    }
    if (command === 'prompt' && isSuccess) {
      this.#isStarted = true;
      return only({ type: 'delivered', messageId: this.#turn.messageId });
    }
    if (command === 'prompt' || command === 'parse') {
      return this.#over({
        outcome: 'failed',
        error: turnError({ message: textAt(json, 'error') }),
      });
    }
    return NOTHING;
  }

  #update(event: Json): ProtocolStep {
    if (event['type'] !== 'text_delta') return NOTHING;
    return only({ type: 'text_delta', text: textAt(event, 'delta') });
  }

  #message(message: Json): ProtocolStep {
    if (message['role'] !== 'assistant') return NOTHING;
    this.#lastMessage = message;
    this.#usage = addedUsage(this.#usage, objectAt(message, 'usage'));
    const text = contentText(message['content']);
    // What a cut or aborted reply left behind is not what the assistant meant to say.
    if (text === '' || isFailed(message)) return NOTHING;
    this.#summary = text;
    return only({ type: 'message', role: 'assistant', text });
  }

  #toolStarted(json: Json): ProtocolStep {
    const id = textAt(json, 'toolCallId');
    const name = textAt(json, 'toolName');
    const path = textAt(objectAt(json, 'args'), 'path');
    if (WRITING_TOOLS.has(name) && path !== '') this.#written.set(id, path);
    return only({ type: 'tool_started', id, name, input: json['args'] });
  }

  #toolFinished(json: Json): ProtocolStep {
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

  #settled(isAborted: boolean): ProtocolStep {
    if (isAborted) return this.#over({ outcome: this.#stopOutcome() });
    const message = this.#lastMessage ?? {};
    const reason = textAt(message, 'stopReason');
    if (reason === 'aborted') return this.#over({ outcome: this.#stopOutcome() });
    if (reason === 'stop') return this.#over({ outcome: 'succeeded' });
    const error = turnError({
      message: textAt(message, 'errorMessage') || `the turn ended with "${reason || 'no reply'}"`,
      saidAtMilliseconds: numberAt(message, 'timestamp') || undefined,
    });
    return this.#over({ outcome: 'failed', error });
  }

  /** The first message of the person is the prompt; any other was queued. */
  #taken(message: Json): ProtocolStep {
    if (message['role'] !== 'user') return NOTHING;
    const isPrompt = !this.#isPromptTaken;
    this.#isPromptTaken = true;
    const text = contentText(message['content']);
    return { events: isPrompt ? [] : this.#steers.taken(text), inputs: [] };
  }

  #dialog(json: Json): ProtocolStep {
    if (!DIALOGS.has(textAt(json, 'method'))) return NOTHING;
    const id = textAt(json, 'id');
    const answered = (body: object): ProtocolInput => ({
      key: `dialog:${id}`,
      line: JSON.stringify({ type: 'extension_ui_response', id, ...body }),
    });
    const ask = dialogAsk(json);
    if (ask !== null) {
      return this.#asks.asked(ask, (answer) => [answered({ value: dialogValue(ask, answer) })]);
    }
    const text = `An extension asked "${textAt(json, 'title')}"; it is not hangar's, so nobody answers.`;
    return { events: [{ type: 'notice', text }], inputs: [answered({ cancelled: true })] };
  }

  #over(end: Pick<TurnResult, 'outcome' | 'error'>): ProtocolStep {
    if (this.#result !== null) return NOTHING;
    this.#result = { ...end, summary: this.#summary, usage: this.#usage };
    return { events: this.#asks.closeAll(), inputs: [] };
  }

  #end(result: TurnResult): HarnessEvent[] {
    if (this.#steers.isWaiting) return [];
    this.#isEnded = true;
    return [{ type: 'ended', result }];
  }
}

function only(event: HarnessEvent): ProtocolStep {
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
