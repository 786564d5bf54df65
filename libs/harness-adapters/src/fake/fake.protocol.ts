/** One turn of the fake harness (fake-harness.mjs says what its lines are). */
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
import { boundedOutput, numberAt, objectAt, parseJson, textAt, type Json } from '../json-line.ts';
import { processResult, turnError } from '../turn-error.ts';

const NOTHING: ProtocolStep = { events: [], inputs: [] };
const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0 };
const LOST = /No conversation found/;

export class FakeProtocol implements TurnProtocol {
  readonly #turn: TurnSpec;
  /** Messages for the running turn; the harness has not said yet what became of the open ones. */
  readonly #steers = new Set<string>();
  readonly #openSteers = new Set<string>();
  /** Answers by ask, told before or after the ask was read; the first counts. */
  readonly #answers = new Map<string, Answer>();
  readonly #openAsks = new Set<string>();
  /** From then on what is asked is deferred: it does not matter which of the two came first. */
  #isDeferring = false;
  #summary = '';
  /** What the harness said last, which is the end when every steer is settled. */
  #result: TurnResult | null = null;
  #isEnded = false;
  #isInterrupted = false;

  constructor(turn: TurnSpec) {
    this.#turn = turn;
    const { answered } = turn;
    if (answered !== null) this.#answers.set(answered.ask.id, answered.answer);
  }

  open(): ProtocolInput[] {
    return this.#turn.answered === null ? [this.#prompt(this.#turn.prompt)] : [];
  }

  line(line: string): ProtocolStep {
    const json = parseJson(line);
    if (json === null || this.#isEnded) return NOTHING;
    switch (json['type']) {
      case 'session':
        return this.#session(json);
      case 'accepted':
        return this.#settled({ type: 'delivered', messageId: textAt(json, 'id') });
      case 'returned':
        return this.#settled({ type: 'returned', messageId: textAt(json, 'id') });
      case 'asked':
        return this.#asked(objectAt(json, 'ask') as unknown as Ask);
      case 'ask_closed':
        return this.#askClosed(textAt(json, 'id'));
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
        this.#result = this.#done(json);
        return { events: this.#end(), inputs: [] };
      default:
        return NOTHING;
    }
  }

  steer({ messageId: id, text }: { messageId: string; text: string }): ProtocolStep {
    if (this.#steers.has(id)) return NOTHING;
    this.#steers.add(id);
    if (this.#isEnded) return only({ type: 'returned', messageId: id });
    this.#openSteers.add(id);
    return write(`steer:${id}`, { type: 'message', id, text });
  }

  withdraw(id: string): ProtocolStep {
    return this.#isEnded ? NOTHING : write(`withdraw:${id}`, { type: 'withdraw', id });
  }

  answer(askId: string, answer: Answer): ProtocolStep {
    if (this.#answers.has(askId) || this.#isDeferring) return NOTHING;
    this.#answers.set(askId, answer);
    return this.#openAsks.has(askId) ? answerTo(askId, answer) : NOTHING;
  }

  defer(): ProtocolStep {
    if (this.#isDeferring) return NOTHING;
    this.#isDeferring = true;
    const isAsked = [...this.#openAsks].some((id) => !this.#answers.has(id));
    return isAsked ? DEFER : NOTHING;
  }

  interrupt(): ProtocolInput[] {
    this.#isInterrupted = true;
    return [{ key: 'interrupt', line: JSON.stringify({ type: 'interrupt' }) }];
  }

  close(): ProtocolInput[] {
    return [{ key: 'eof', line: 'eof' }];
  }

  exited(exit: { code: number | null; signal: string | null }, stderr: string): TurnResult {
    if (this.#result !== null) return this.#result;
    return processResult('the fake harness', exit, stderr, {
      summary: this.#summary,
      usage: NO_USAGE,
      isInterrupted: this.#isInterrupted,
      lost: LOST,
    });
  }

  #prompt(text: string): ProtocolInput {
    const { messageId: id } = this.#turn;
    return { key: 'prompt', line: JSON.stringify({ type: 'message', id, text }) };
  }

  /** What it does not ask again is told to it in words. */
  #session(json: Json): ProtocolStep {
    const { answered } = this.#turn;
    const isTold = answered !== null && textAt(json, 'open_ask') !== answered.ask.id;
    const inputs = isTold ? [this.#prompt(answeredText(answered))] : [];
    return { events: [{ type: 'conversation', id: textAt(json, 'id') }], inputs };
  }

  #settled(event: HarnessEvent & { messageId: string }): ProtocolStep {
    this.#openSteers.delete(event.messageId);
    return { events: [event, ...this.#end()], inputs: [] };
  }

  #asked(ask: Ask): ProtocolStep {
    this.#openAsks.add(ask.id);
    const answer = this.#answers.get(ask.id);
    const { inputs } = answer ? answerTo(ask.id, answer) : this.#isDeferring ? DEFER : NOTHING;
    // The answer that the turn began with: nobody is asked again.
    const isKnown = this.#turn.answered?.ask.id === ask.id;
    return { events: isKnown ? [] : [{ type: 'asked', ask }], inputs };
  }

  #askClosed(id: string): ProtocolStep {
    this.#openAsks.delete(id);
    if (this.#turn.answered?.ask.id !== id) return only({ type: 'ask_closed', id });
    return only({ type: 'delivered', messageId: this.#turn.messageId });
  }

  #end(): HarnessEvent[] {
    if (this.#result === null || this.#openSteers.size > 0) return [];
    this.#isEnded = true;
    return [{ type: 'ended', result: this.#result }];
  }

  #done(json: Json): TurnResult {
    const used = objectAt(json, 'usage');
    const usage: Usage = {
      input_tokens: numberAt(used, 'input_tokens'),
      output_tokens: numberAt(used, 'output_tokens'),
      cached_tokens: numberAt(used, 'cached_tokens'),
      cost_usd: numberAt(used, 'cost_usd'),
    };
    const outcome = outcomeOf(textAt(json, 'outcome'));
    const known = { outcome, summary: this.#summary, usage };
    if (outcome !== 'failed') return known;
    return { ...known, error: turnError(reported(objectAt(json, 'error'))) };
  }
}

const DEFER = write('defer', { type: 'defer' });

function write(key: string, line: object): ProtocolStep {
  return { events: [], inputs: [{ key, line: JSON.stringify(line) }] };
}

function answerTo(id: string, answer: Answer): ProtocolStep {
  return write(`answer:${id}`, { type: 'answer', id, ...answer });
}

function only(event: HarnessEvent): ProtocolStep {
  return { events: [event], inputs: [] };
}

function outcomeOf(outcome: string): TurnResult['outcome'] {
  const known = ['succeeded', 'cancelled', 'deferred'] as const;
  return known.find((each) => each === outcome) ?? 'failed';
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
