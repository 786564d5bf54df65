/**
 * Messages for a running turn of Codex. It cannot give one back, so each is held here while a
 * tool runs and written when Codex applies it at once; until then it can be withdrawn.
 */
import type { HarnessEvent, ProtocolInput } from '../harness-adapter.ts';
import type { Json } from '../json-line.ts';

const PREFIX = 'steer:';
/** A turn that never runs: Codex refuses a message for it. */
const NO_TURN = 'withdrawn';

interface Message {
  text: string;
  /** `taken`: Codex will apply it in this turn, unless the turn is interrupted before. */
  state: 'held' | 'written' | 'taken' | 'settled';
}

export class CodexSteers {
  readonly #messages = new Map<string, Message>();

  /** false when the message is known. */
  add(messageId: string, text: string): boolean {
    if (this.#messages.has(messageId)) return false;
    this.#messages.set(messageId, { text, state: 'held' });
    return true;
  }

  /**
   * One key stands for one write: a message for no turn takes the place of the real one, unless
   * that was written before, perhaps by a service that restarted since. What Codex answers to
   * this id says which of the two it got.
   */
  withdraw(messageId: string): ProtocolInput[] {
    const message = this.#messages.get(messageId);
    if (message?.state !== 'held') return [];
    message.state = 'written';
    return [steerInput(PREFIX + messageId, { threadId: '', turnId: NO_TURN }, message.text)];
  }

  /** Writes everything that is held, for a turn in which no tool runs. */
  write(turn: { threadId: string; turnId: string }): ProtocolInput[] {
    return this.#in('held').map(([messageId, message]) => {
      message.state = 'written';
      return steerInput(PREFIX + messageId, turn, message.text, messageId);
    });
  }

  /** What Codex answered to request `id`; null when that was no message's. */
  answered(id: unknown, response: Json): HarnessEvent[] | null {
    if (typeof id !== 'string' || !id.startsWith(PREFIX)) return null;
    const messageId = id.slice(PREFIX.length);
    const message = this.#messages.get(messageId);
    // A service that was told to stop may read what an earlier one wrote: held counts, too.
    if (message?.state !== 'written' && message?.state !== 'held') return [];
    if ('error' in response) return this.#settle(messageId, 'returned');
    message.state = 'taken';
    return [];
  }

  delivered(messageId: string): HarnessEvent[] {
    return this.#settle(messageId, 'delivered');
  }

  /** The turn is over: what is held stays here, and what was taken is not in the conversation. */
  turnOver(): HarnessEvent[] {
    const left = [...this.#in('held'), ...this.#in('taken')];
    return left.flatMap(([messageId]) => this.#settle(messageId, 'returned'));
  }

  /** Codex has not answered yet whether it takes one. */
  get isWaiting(): boolean {
    return this.#in('written').length > 0;
  }

  #in(state: Message['state']): [string, Message][] {
    return [...this.#messages].filter(([, message]) => message.state === state);
  }

  #settle(messageId: string, type: 'delivered' | 'returned'): HarnessEvent[] {
    const message = this.#messages.get(messageId);
    if (!message || message.state === 'settled') return [];
    message.state = 'settled';
    return [{ type, messageId }];
  }
}

/** `key` is also the request's id; `clientId` comes back with the message when it is applied. */
export function steerInput(
  key: string,
  turn: { threadId: string; turnId: string },
  text: string,
  clientId: string = key,
): ProtocolInput {
  const params = {
    threadId: turn.threadId,
    expectedTurnId: turn.turnId,
    clientUserMessageId: clientId,
    input: textInput(text),
  };
  return { key, line: JSON.stringify({ id: key, method: 'turn/steer', params }) };
}

export function textInput(text: string): Json[] {
  return [{ type: 'text', text, text_elements: [] }];
}
