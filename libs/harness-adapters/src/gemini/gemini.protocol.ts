/** One turn with Gemini CLI: its `stream-json` lines, and those of turn.mjs around them. */
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
const LOST = /Error resuming session/;
/** Exit code: there is no way to log in. */
const WITHOUT_KEY = 41;
/** Tools whose success means that a file of the tree changed. */
const WRITING_TOOLS = new Set(['write_file', 'replace']);

export class GeminiProtocol implements TurnProtocol {
  readonly #turn: TurnSpec;
  readonly #written = new Map<string, string>();
  #usage: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0 };
  /** Of the reply that is being said. */
  #text = '';
  #summary = '';
  /** What it complained of last: some failures have no words of their own. */
  #complaint = '';
  #isDelivered = false;
  #isInterrupted = false;
  #result: TurnResult | null = null;

  constructor(turn: TurnSpec) {
    this.#turn = turn;
  }

  open(): ProtocolInput[] {
    const { prompt, answered } = this.#turn;
    const text = geminiText(answered === null ? prompt : answeredText(answered));
    return [{ key: 'prompt', line: JSON.stringify({ type: 'prompt', text }) }];
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

  interrupt(): ProtocolInput[] {
    this.#isInterrupted = true;
    return [{ key: 'interrupt', line: JSON.stringify({ type: 'interrupt' }) }];
  }

  close(): ProtocolInput[] {
    return [{ key: 'eof', line: 'eof' }];
  }

  exited(exit: { code: number | null; signal: string | null }, stderr: string): TurnResult {
    return this.#result ?? this.#left(exit, stderr, this.#isInterrupted);
  }

  #read(json: Json): HarnessEvent[] {
    switch (json['type']) {
      case 'init':
        return [{ type: 'conversation', id: textAt(json, 'session_id') }];
      case 'message':
        return this.#message(json);
      case 'tool_use':
        return this.#toolStarted(json);
      case 'tool_result':
        return this.#toolFinished(json);
      case 'error':
        this.#complaint = textAt(json, 'message');
        return [{ type: 'notice', text: this.#complaint }];
      case 'hangar.retry':
        return [
          { type: 'retrying', attempt: numberAt(json, 'attempt'), reason: textAt(json, 'reason') },
        ];
      case 'result':
        return this.#over(json);
      case 'hangar.exit':
        return this.#exit(json);
      default:
        return [];
    }
  }

  #message(json: Json): HarnessEvent[] {
    const text = textAt(json, 'content');
    if (json['role'] === 'user' && !this.#isDelivered) {
      this.#isDelivered = true;
      return [{ type: 'delivered', messageId: this.#turn.messageId }];
    }
    if (json['role'] !== 'assistant' || text === '') return [];
    this.#text += text;
    return [{ type: 'text_delta', text }];
  }

  /** A reply is whole when it called a tool, or when the turn succeeded. */
  #said(): HarnessEvent[] {
    const text = this.#text;
    this.#text = '';
    if (text.trim() === '') return [];
    this.#summary = text;
    return [{ type: 'message', role: 'assistant', text }];
  }

  #toolStarted(json: Json): HarnessEvent[] {
    const id = textAt(json, 'tool_id');
    const name = textAt(json, 'tool_name');
    const path = textAt(objectAt(json, 'parameters'), 'file_path');
    if (WRITING_TOOLS.has(name) && path !== '') this.#written.set(id, path);
    return [...this.#said(), { type: 'tool_started', id, name, input: json['parameters'] }];
  }

  #toolFinished(json: Json): HarnessEvent[] {
    const id = textAt(json, 'tool_id');
    const exitCode = json['exit_code'];
    const isError = json['status'] !== 'success' || (typeof exitCode === 'number' && exitCode > 0);
    const output = textAt(json, 'output') || textAt(objectAt(json, 'error'), 'message');
    const path = this.#written.get(id);
    this.#written.delete(id);
    return [
      {
        type: 'tool_finished',
        id,
        output: boundedOutput(output),
        isError,
        ...(typeof exitCode === 'number' ? { exitCode } : {}),
      },
      ...(path === undefined || isError
        ? []
        : [{ type: 'file_changed', path, change: 'updated' } as const]),
    ];
  }

  #over(json: Json): HarnessEvent[] {
    const stats = objectAt(json, 'stats');
    this.#usage = {
      input_tokens: numberAt(stats, 'input_tokens'),
      output_tokens: numberAt(stats, 'output_tokens'),
      cached_tokens: numberAt(stats, 'cached'),
    };
    const isSuccess = json['status'] === 'success';
    // It calls a turn a success in which nothing was sent and nothing came back.
    if (isSuccess && this.#usage.output_tokens > 0) {
      return [...this.#said(), ...this.#end({ outcome: 'succeeded' })];
    }
    if (this.#isInterrupted) return this.#end({ outcome: 'cancelled' });
    const message = textAt(objectAt(json, 'error'), 'message') || this.#complaint;
    return this.#end({ outcome: 'failed', error: geminiError(message || 'it gave no reply') });
  }

  #exit(json: Json): HarnessEvent[] {
    const code = json['code'];
    const exit = {
      code: typeof code === 'number' ? code : null,
      signal: textAt(json, 'signal') || null,
    };
    const isStopped = this.#isInterrupted || json['isStopped'] === true;
    return this.#end(this.#left(exit, textAt(json, 'stderr'), isStopped));
  }

  #left(
    exit: { code: number | null; signal: string | null },
    stderr: string,
    isInterrupted: boolean,
  ): TurnResult {
    const known = { summary: this.#summary, usage: this.#usage, isInterrupted, lost: LOST };
    const result = processResult('Gemini CLI', exit, stderr, known);
    if (result.error === undefined || exit.code !== WITHOUT_KEY) return result;
    return { ...result, error: { ...result.error, kind: 'authentication' } };
  }

  #end(end: Pick<TurnResult, 'outcome' | 'error'>): HarnessEvent[] {
    this.#result = { ...end, summary: this.#summary, usage: this.#usage };
    return [{ type: 'ended', result: this.#result }];
  }
}

/**
 * A leading `/` would be a command, and what begins with `/` or `?`, spaces or not, is left out of
 * the conversation when it is resumed: a line in front makes it plain text.
 */
export function geminiText(prompt: string): string {
  return /^\s*[/?]/.test(prompt) ? `The message:\n${prompt}` : prompt;
}

/** The provider's answer is in the words, as `[API Error: {"error":{"code":401,...}}]`. */
function geminiError(message: string): TurnResult['error'] {
  const words = /^\[API Error: ([\s\S]*?)\](?:\n|$)/.exec(message)?.[1] ?? message;
  const error = objectAt(parseJson(words) ?? {}, 'error');
  const said = textAt(error, 'message');
  // A wrong key is a bad request there.
  const isKey = /API key not valid|API_KEY_INVALID|API key expired/i.test(words);
  const status = isKey ? 401 : numberAt(error, 'code') || undefined;
  return turnError({ message: said || message, status });
}
