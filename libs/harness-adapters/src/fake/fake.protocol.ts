/** One turn of the fake harness (fake-harness.mjs says what its lines are). */
import type {
  HarnessEvent,
  ProtocolInput,
  TurnProtocol,
  TurnResult,
  TurnSpec,
  Usage,
} from '../harness-adapter.ts';
import { boundedOutput, numberAt, objectAt, parseJson, textAt, type Json } from '../json-line.ts';
import { NotLive } from '../not-live.ts';
import { processResult, turnError } from '../turn-error.ts';

interface Step {
  events: HarnessEvent[];
  inputs: ProtocolInput[];
}

const NOTHING: Step = { events: [], inputs: [] };
const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0 };
const LOST = /No conversation found/;

export class FakeProtocol extends NotLive implements TurnProtocol {
  readonly #turn: TurnSpec;
  #summary = '';
  #ended: TurnResult | null = null;
  #isInterrupted = false;

  constructor(turn: TurnSpec) {
    super();
    this.#turn = turn;
  }

  open(): ProtocolInput[] {
    const { messageId: id, prompt: text } = this.#turn;
    return [{ key: 'prompt', line: JSON.stringify({ type: 'message', id, text }) }];
  }

  line(line: string): Step {
    const json = parseJson(line);
    if (json === null || this.#ended !== null) return NOTHING;
    switch (json['type']) {
      case 'session':
        return only({ type: 'conversation', id: textAt(json, 'id') });
      case 'accepted':
        return only({ type: 'delivered', messageId: textAt(json, 'id') });
      case 'delta':
        return only({ type: 'text_delta', text: textAt(json, 'text') });
      case 'said':
        this.#summary = textAt(json, 'text');
        return only({ type: 'message', role: 'assistant', text: this.#summary });
      case 'tool_start':
        return only({
          type: 'tool_started',
          id: textAt(json, 'id'),
          name: textAt(json, 'name'),
          input: json['input'],
        });
      case 'tool_end':
        return only(toolFinished(json));
      case 'file':
        return only({
          type: 'file_changed',
          path: textAt(json, 'path'),
          change: json['change'] === 'created' ? 'created' : 'updated',
        });
      case 'retry':
        return only({
          type: 'retrying',
          attempt: numberAt(json, 'attempt'),
          reason: textAt(json, 'reason'),
        });
      case 'done':
        return this.#done(json);
      default:
        return NOTHING;
    }
  }

  override interrupt(): ProtocolInput[] {
    this.#isInterrupted = true;
    return [{ key: 'interrupt', line: JSON.stringify({ type: 'interrupt' }) }];
  }

  close(): ProtocolInput[] {
    return [{ key: 'eof', line: 'eof' }];
  }

  exited(exit: { code: number | null; signal: string | null }, stderr: string): TurnResult {
    if (this.#ended !== null) return this.#ended;
    return processResult('the fake harness', exit, stderr, {
      summary: this.#summary,
      usage: NO_USAGE,
      isInterrupted: this.#isInterrupted,
      lost: LOST,
    });
  }

  #done(json: Json): Step {
    const used = objectAt(json, 'usage');
    const usage: Usage = {
      input_tokens: numberAt(used, 'input_tokens'),
      output_tokens: numberAt(used, 'output_tokens'),
      cached_tokens: numberAt(used, 'cached_tokens'),
      cost_usd: numberAt(used, 'cost_usd'),
    };
    const error = objectAt(json, 'error');
    const outcome = outcomeOf(textAt(json, 'outcome'));
    const known = { summary: this.#summary, usage };
    this.#ended =
      outcome === 'failed'
        ? { outcome, ...known, error: turnError(reported(error)) }
        : { outcome, ...known };
    return only({ type: 'ended', result: this.#ended });
  }
}

function only(event: HarnessEvent): Step {
  return { events: [event], inputs: [] };
}

function outcomeOf(outcome: string): TurnResult['outcome'] {
  return outcome === 'succeeded' || outcome === 'cancelled' ? outcome : 'failed';
}

function reported(error: Json): Parameters<typeof turnError>[0] {
  return {
    message: textAt(error, 'message'),
    status: numberAt(error, 'status') || undefined,
    resetsAt: numberAt(error, 'resets_at') || undefined,
  };
}

function toolFinished(json: Json): HarnessEvent {
  const exitCode = json['exit_code'];
  return {
    type: 'tool_finished',
    id: textAt(json, 'id'),
    output: boundedOutput(textAt(json, 'output')),
    isError: json['is_error'] === true,
    ...(typeof exitCode === 'number' ? { exitCode } : {}),
  };
}
