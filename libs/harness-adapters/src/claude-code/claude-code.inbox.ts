/**
 * The messages of a turn, from their writing until Claude Code has said what became of them. It
 * queues what comes while it works, applies it after the running tool call, and starts another
 * round by itself for what came too late for that.
 */
import { deriveUuid } from '@hangar/contracts';
import type { HarnessEvent, ProtocolInput, ProtocolStep, TurnSpec } from '../harness-adapter.ts';
import { objectAt, textAt, type Json } from '../json-line.ts';
import { controlRequest } from './claude-code.control.ts';

const NOTHING: ProtocolStep = { events: [], inputs: [] };
const CANCEL = 'cancel:';

export class Inbox {
  readonly #runId: string;
  readonly #openingId: string;
  readonly #ids = new Map<string, string>();
  /** Neither delivered nor given back, in the order of their writing. */
  readonly #waiting = new Set<string>();
  readonly #settled = new Set<string>();
  readonly #calledBack = new Set<string>();
  /** A message whose id is in the conversation already is "completed" without being started. */
  #isRefused = false;
  /** Delivered after the newest result: the round that deals with it has no result yet. */
  #isRoundOpen = false;
  #isClosed = false;
  #isOpeningBack = false;

  constructor({ runId, messageId }: TurnSpec) {
    this.#runId = runId;
    this.#openingId = messageId;
  }

  get isRefused(): boolean {
    return this.#isRefused;
  }

  get isRoundOpen(): boolean {
    return this.#isRoundOpen;
  }

  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** It comes after a call that the program has asked about again by itself. */
  get isOpeningWaiting(): boolean {
    return this.#waiting.has(this.#openingId);
  }

  get isOpeningBack(): boolean {
    return this.#isOpeningBack;
  }

  /** Not waited for until it is queued: an older message id would never be. */
  opening(text: string): ProtocolInput {
    return this.#message('prompt', this.#openingId, text);
  }

  steer({ messageId, text }: { messageId: string; text: string }): ProtocolStep {
    if (this.#waiting.has(messageId) || this.#settled.has(messageId)) return NOTHING;
    if (this.#isClosed) return { events: this.#settle('returned', messageId), inputs: [] };
    this.#waiting.add(messageId);
    return { events: [], inputs: [this.#message(`steer:${messageId}`, messageId, text)] };
  }

  withdraw(messageId: string): ProtocolStep {
    const isKnown = this.#waiting.has(messageId) || this.#settled.has(messageId);
    return isKnown ? { events: [], inputs: this.#cancel(messageId) } : NOTHING;
  }

  /**
   * From now on nothing more is taken, and what waits is called back: the newest first, so that
   * none is given back while a later one is taken.
   */
  close(): ProtocolInput[] {
    this.#isClosed = true;
    return [...this.#waiting].toReversed().flatMap((messageId) => this.#cancel(messageId));
  }

  lifecycle(json: Json): HarnessEvent[] {
    const messageId = this.#ids.get(textAt(json, 'command_uuid'));
    if (messageId === undefined) return [];
    switch (json['state']) {
      case 'queued':
        if (!this.#settled.has(messageId)) this.#waiting.add(messageId);
        return [];
      case 'started':
        return this.#settle('delivered', messageId);
      case 'completed':
        if (messageId === this.#openingId) this.#isRefused = !this.#settled.has(messageId);
        this.#waiting.delete(messageId);
        return [];
      case 'cancelled':
        return this.#settle('returned', messageId);
      default:
        return [];
    }
  }

  /** The program says a message again when it has it. */
  replay(json: Json): HarnessEvent[] {
    const messageId = this.#ids.get(textAt(json, 'uuid'));
    return messageId === undefined ? [] : this.#settle('delivered', messageId);
  }

  /** The answer to a call back; `cancelled: false`: it has the message already. */
  response(response: Json): HarnessEvent[] {
    const [, messageId] = textAt(response, 'request_id').split(CANCEL);
    if (messageId === undefined) return [];
    const isBack = objectAt(response, 'response')['cancelled'] === true;
    return isBack ? this.#settle('returned', messageId) : [];
  }

  result(): void {
    this.#isRoundOpen = false;
  }

  /** An answer took the place of the opening message. */
  answered(): HarnessEvent[] {
    return this.#settle('delivered', this.#openingId);
  }

  #settle(type: 'delivered' | 'returned', messageId: string): HarnessEvent[] {
    if (this.#settled.has(messageId)) return [];
    this.#settled.add(messageId);
    this.#waiting.delete(messageId);
    if (type === 'delivered') this.#isRoundOpen = true;
    else if (messageId === this.#openingId) this.#isOpeningBack = true;
    return [{ type, messageId }];
  }

  #message(key: string, messageId: string, text: string): ProtocolInput {
    const uuid = this.#uuid(messageId);
    this.#ids.set(uuid, messageId);
    const message = { role: 'user', content: claudeText(text) };
    return { key, line: JSON.stringify({ type: 'user', message, uuid }) };
  }

  #cancel(messageId: string): ProtocolInput[] {
    if (this.#calledBack.has(messageId)) return [];
    this.#calledBack.add(messageId);
    const fields = { message_uuid: this.#uuid(messageId) };
    return [controlRequest(`${CANCEL}${messageId}`, 'cancel_async_message', fields)];
  }

  #uuid(messageId: string): string {
    return deriveUuid('claude-code-message', this.#runId, messageId);
  }
}

/** A leading `/` is a command of the program and never reaches the model: a space hides it. */
export function claudeText(prompt: string): string {
  return prompt.startsWith('/') ? ` ${prompt}` : prompt;
}
