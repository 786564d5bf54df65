/** One turn with Antigravity: a line with the message, events under `event`, the end of input. */
import { answeredText } from '../answered-text.ts';
import type {
  HarnessEvent,
  ProtocolInput,
  ProtocolStep,
  TurnProtocol,
  TurnResult,
  TurnSpec,
  Usage,
} from '../harness-adapter.ts';
import { boundedOutput, numberAt, objectAt, parseJson, textAt, type Json } from '../json-line.ts';
import { processResult, turnError } from '../turn-error.ts';

const NOTHING: ProtocolStep = { events: [], inputs: [] };
/** Tools whose success means that a file of the tree changed. */
const WRITING_TOOLS = new Set([
  'write_to_file',
  'replace_file_content',
  'multi_replace_file_content',
]);

export class AntigravityProtocol implements TurnProtocol {
  readonly #turn: TurnSpec;
  /** Text of the reply that each step is saying. */
  readonly #replies = new Map<number, string>();
  readonly #started = new Set<number>();
  readonly #finished = new Set<number>();
  #summary = '';
  #isDelivered = false;
  #isInterrupted = false;
  #result: TurnResult | null = null;

  constructor(turn: TurnSpec) {
    this.#turn = turn;
  }

  open(): ProtocolInput[] {
    const { prompt, answered } = this.#turn;
    const content = answered === null ? prompt : answeredText(answered);
    return [{ key: 'prompt', line: JSON.stringify({ event: 'user', message: { content } }) }];
  }

  line(line: string): ProtocolStep {
    const json = parseJson(line);
    if (json === null || this.#result !== null) return NOTHING;
    return { events: this.#read(json), inputs: [] };
  }

  /** It takes nothing while it works: the message waits for the next turn. */
  steer({ messageId }: { messageId: string }): ProtocolStep {
    return { events: [{ type: 'returned', messageId }], inputs: [] };
  }

  withdraw(): ProtocolStep {
    return NOTHING;
  }

  answer(): ProtocolStep {
    return NOTHING;
  }

  defer(): ProtocolStep {
    return NOTHING;
  }

  /** By a signal: there is no line for it. */
  interrupt(): ProtocolInput[] {
    this.#isInterrupted = true;
    return [];
  }

  close(): ProtocolInput[] {
    return [{ key: 'eof', line: 'eof' }];
  }

  exited(exit: { code: number | null; signal: string | null }, stderr: string): TurnResult {
    const known = { summary: this.#summary, usage: NO_USAGE, isInterrupted: this.#isInterrupted };
    return this.#result ?? processResult('Antigravity', exit, stderr, known);
  }

  #read(json: Json): HarnessEvent[] {
    switch (json['event']) {
      case 'init':
        return this.#begun(textAt(json, 'conversation_id'));
      case 'step_update':
        return this.#step(objectAt(json, 'step_update'));
      case 'result':
        return this.#over(objectAt(json, 'result'));
      default:
        return [];
    }
  }

  /** For an id that it does not know it begins a new conversation, without a word. */
  #begun(id: string): HarnessEvent[] {
    const { resume, conversationId } = this.#turn;
    if (id === '') return [];
    const begun: HarnessEvent = { type: 'conversation', id };
    if (!resume || id === conversationId) return [begun];
    const message = `Antigravity does not know the conversation ${conversationId}`;
    return [begun, ...this.#end(failed({ kind: 'conversation_lost', message }), NO_USAGE)];
  }

  #step(step: Json): HarnessEvent[] {
    // The first step is the message itself.
    const delivered: HarnessEvent[] = this.#isDelivered
      ? []
      : [{ type: 'delivered', messageId: this.#turn.messageId }];
    this.#isDelivered = true;
    if (step['step_type'] === 'agent_response') return [...delivered, ...this.#said(step)];
    return step['step_type'] === 'tool' ? [...delivered, ...this.#tool(step)] : delivered;
  }

  #said(step: Json): HarnessEvent[] {
    const index = numberAt(step, 'step_index');
    const delta = textAt(step, 'text_delta');
    const text = (this.#replies.get(index) ?? '') + delta;
    this.#replies.set(index, text);
    const events: HarnessEvent[] = delta === '' ? [] : [{ type: 'text_delta', text: delta }];
    if (step['state'] !== 'DONE') return events;
    this.#replies.delete(index);
    return [...events, ...this.#message(text)];
  }

  #message(text: string): HarnessEvent[] {
    const said = text.trim();
    if (said === '') return [];
    this.#summary = said;
    return [{ type: 'message', role: 'assistant', text: said }];
  }

  #tool(step: Json): HarnessEvent[] {
    const index = numberAt(step, 'step_index');
    const info = objectAt(step, 'tool_info');
    const parameters = objectAt(info, 'parameters');
    const name = textAt(step, 'tool_name') || textAt(info, 'name');
    const id = `step-${index}`;
    const events: HarnessEvent[] = [];
    if (!this.#started.has(index)) {
      this.#started.add(index);
      events.push({ type: 'tool_started', id, name, input: parameters });
    }
    const state = step['state'];
    if ((state !== 'DONE' && state !== 'ERROR') || this.#finished.has(index)) return events;
    this.#finished.add(index);
    const error = textAt(info, 'error');
    const isError = state === 'ERROR' || error !== '';
    const output = [textAt(info, 'output'), error].filter((part) => part !== '').join('\n');
    const exit = /exit status (\d+)/.exec(error)?.[1];
    const exitCode = exit === undefined ? {} : { exitCode: Number(exit) };
    events.push({ type: 'tool_finished', id, output: boundedOutput(output), isError, ...exitCode });
    const path = textAt(parameters, 'TargetFile');
    if (!isError && WRITING_TOOLS.has(name) && path !== '')
      events.push({ type: 'file_changed', path, change: 'updated' });
    return events;
  }

  /** It calls a turn a success in which it was denied a tool, or ran out of its own time. */
  #over(result: Json): HarnessEvent[] {
    const usage = usageOf(objectAt(result, 'usage'));
    const pending = [...this.#replies.values()].join('');
    const response = textAt(result, 'response').trim();
    const isSuccess = result['status'] === 'SUCCESS' && usage.output_tokens > 0 && response !== '';
    if (this.#isInterrupted && !isSuccess) return this.#end({ outcome: 'cancelled' }, usage);
    if (isSuccess) {
      const said = this.#summary === response ? [] : this.#message(pending || response);
      this.#summary = response;
      return [...said, ...this.#end({ outcome: 'succeeded' }, usage)];
    }
    const denied = Array.isArray(result['denied_actions']) && result['denied_actions'].length > 0;
    const why = denied ? 'a tool was denied, and it gave no reply' : 'it gave no reply';
    return this.#end(failed(turnError({ message: textAt(result, 'error') || why })), usage);
  }

  #end(end: Pick<TurnResult, 'outcome' | 'error'>, usage: Usage): HarnessEvent[] {
    this.#result = { ...end, summary: this.#summary, usage };
    return [{ type: 'ended', result: this.#result }];
  }
}

const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0 };

const failed = (
  error: NonNullable<TurnResult['error']>,
): Pick<TurnResult, 'outcome' | 'error'> => ({
  outcome: 'failed',
  error,
});

/** Of the turn; the tokens that were cached are not among those that were sent. */
function usageOf(usage: Json): Usage {
  const cached_tokens = numberAt(usage, 'cache_read_tokens');
  return {
    input_tokens: numberAt(usage, 'input_tokens') + cached_tokens,
    output_tokens: numberAt(usage, 'output_tokens'),
    cached_tokens,
  };
}
