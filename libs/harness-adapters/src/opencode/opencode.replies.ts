/** The assistant's replies in a turn of OpenCode: their text, their tool calls, what they cost. */
import type { HarnessEvent, Usage } from '../harness-adapter.ts';
import { boundedOutput, numberAt, objectAt, textAt, type Json } from '../json-line.ts';

export class OpencodeReplies {
  #session = '';
  /** Epoch milliseconds: what was written before is of another turn, and can be told of again. */
  #since = 0;
  readonly #own = new Map<string, Json>();
  /** Text of the reply that is being said, by part. */
  readonly #texts = new Map<string, string>();
  readonly #started = new Set<string>();
  readonly #finished = new Set<string>();
  #summary = '';
  #finish = 'no reply';

  get summary(): string {
    return this.#summary;
  }

  /** Why the last reply stopped. */
  get finish(): string {
    return this.#finish;
  }

  get isWhole(): boolean {
    return this.#finish === 'stop';
  }

  of(session: string, since: number): void {
    this.#session = session;
    this.#since = since;
  }

  isOfTurn(info: Json): boolean {
    return numberAt(objectAt(info, 'time'), 'created') >= this.#since;
  }

  /** A subagent's replies count, too, but say nothing here. */
  message(info: Json): void {
    if (!this.isOfTurn(info)) return;
    this.#own.set(textAt(info, 'id'), info);
    const isDone = numberAt(objectAt(info, 'time'), 'completed') > 0;
    if (textAt(info, 'sessionID') === this.#session && isDone) {
      this.#finish = textAt(info, 'finish') || 'error';
    }
  }

  delta(json: Json): HarnessEvent[] {
    const id = textAt(json, 'partID');
    const text = textAt(json, 'delta');
    if (!this.#texts.has(id) || json['field'] !== 'text' || text === '') return [];
    this.#texts.set(id, `${this.#texts.get(id) ?? ''}${text}`);
    return [{ type: 'text_delta', text }];
  }

  part(part: Json): HarnessEvent[] {
    const isOwn = this.#own.has(textAt(part, 'messageID'));
    if (!isOwn || textAt(part, 'sessionID') !== this.#session) return [];
    if (part['type'] === 'text') this.#texts.set(textAt(part, 'id'), textAt(part, 'text'));
    return part['type'] === 'tool' ? this.#tool(part) : [];
  }

  /** A reply is whole when it called a tool, or when the turn succeeded. */
  said(): HarnessEvent[] {
    const text = [...this.#texts.values()].filter((each) => each.trim() !== '').join('\n');
    this.#texts.clear();
    if (text === '') return [];
    this.#summary = text;
    return [{ type: 'message', role: 'assistant', text }];
  }

  /** What a failed request left behind is not what the assistant meant to say. */
  forget(): void {
    this.#texts.clear();
  }

  usage(): Usage {
    const usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0 };
    for (const info of this.#own.values()) {
      const tokens = objectAt(info, 'tokens');
      const cache = objectAt(tokens, 'cache');
      const cached = numberAt(cache, 'read');
      usage.input_tokens += numberAt(tokens, 'input') + numberAt(cache, 'write') + cached;
      usage.output_tokens += numberAt(tokens, 'output') + numberAt(tokens, 'reasoning');
      usage.cached_tokens += cached;
      usage.cost_usd += numberAt(info, 'cost');
    }
    return usage;
  }

  /** An event can come late, with the state of by then: a call that is over also began. */
  #tool(part: Json): HarnessEvent[] {
    const id = textAt(part, 'callID');
    const state = objectAt(part, 'state');
    const status = textAt(state, 'status');
    const isOver = status === 'completed' || status === 'error';
    const events: HarnessEvent[] = [];
    if ((isOver || status === 'running') && !this.#started.has(id)) {
      this.#started.add(id);
      const name = textAt(part, 'tool');
      events.push(...this.said(), { type: 'tool_started', id, name, input: state['input'] });
    }
    if (!isOver || this.#finished.has(id)) return events;
    this.#finished.add(id);
    const exit = objectAt(state, 'metadata')['exit'];
    const isError = status === 'error' || (typeof exit === 'number' && exit > 0);
    const output = boundedOutput(textAt(state, 'output') || textAt(state, 'error'));
    const exitCode = typeof exit === 'number' ? { exitCode: exit } : {};
    events.push({ type: 'tool_finished', id, output, isError, ...exitCode });
    return events;
  }
}
