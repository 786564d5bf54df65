/**
 * Messages for a running turn of pi. It queues them, one for each reply of the model, and gives
 * its whole queue back when it is asked to: what shall not come back is queued again.
 */
import type { HarnessEvent, ProtocolInput, ProtocolStep } from '../harness-adapter.ts';
import { objectAt, textAt, type Json } from '../json-line.ts';

const NOTHING: ProtocolStep = { events: [], inputs: [] };
const SETTLE = 'settle';

interface Message {
  id: string;
  /** As pi says it again when it takes it. */
  text: string;
  /** `written`: pi has not said yet that it is in the queue. */
  state: 'held' | 'written' | 'queued' | 'settled';
  isWithdrawn: boolean;
  writes: number;
}

export class PiSteers {
  readonly #messages = new Map<string, Message>();
  #isStopped = false;
  #isOver = false;
  #isSettling = false;

  /** false when the message is known. */
  add(id: string, text: string): boolean {
    if (this.#messages.has(id)) return false;
    this.#messages.set(id, { id, text, state: 'held', isWithdrawn: false, writes: 0 });
    return true;
  }

  /**
   * One key stands for one write: before the message is written, something harmless takes its
   * place, unless a service that restarted since has written it. pi's answer says which it got.
   */
  withdraw(id: string): ProtocolInput[] {
    const message = this.#messages.get(id);
    if (!message || message.isWithdrawn || message.state === 'settled') return [];
    message.isWithdrawn = true;
    if (message.state === 'held') return [written(message, { type: 'get_state' })];
    return message.state === 'queued' ? [clearQueue(`withdraw:${id}`)] : [];
  }

  /** Writes what is held, into a turn that runs. */
  write(): ProtocolInput[] {
    return this.#isStopped || this.#isOver ? [] : this.#in('held').map(steer);
  }

  /** The turn shall end: nothing more is written, and what is in the queue comes back. */
  stop(): ProtocolInput[] {
    this.#isStopped = true;
    return [clearQueue('clear')];
  }

  /** pi's answer to one of these commands; null when it was to another one. */
  answered(response: Json): ProtocolStep | null {
    const id = textAt(response, 'id');
    const command = textAt(response, 'command');
    if (command === 'clear_queue') return this.#cleared(id, objectAt(response, 'data'));
    if (!id.startsWith('steer:')) return null;
    // A service that was told to stop may read what an earlier one wrote: held counts, too.
    const message = this.#open().find((each) => keyOf(each) === id && each.state !== 'queued');
    if (!message) return NOTHING;
    if (command !== 'steer' || response['success'] !== true) {
      return { events: settle(message, 'returned'), inputs: [] };
    }
    message.state = 'queued';
    message.writes ||= 1;
    const isDue = (message.isWithdrawn || this.#isStopped) && !this.#isOver;
    return { events: [], inputs: isDue ? [clearQueue(`withdraw:${message.id}`)] : [] };
  }

  /** pi took a message of the person out of its queue. */
  taken(text: string): HarnessEvent[] {
    const message = this.#open().find((each) => each.text === text);
    return message ? settle(message, 'delivered') : [];
  }

  /** The turn is over: what was not taken is with pi, if it is not here. */
  turnOver(): ProtocolStep {
    this.#isOver = true;
    const events = this.#in('held').flatMap((message) => settle(message, 'returned'));
    if (this.isWriting || this.#in('queued').length === 0 || this.#isSettling) {
      return { events, inputs: [] };
    }
    this.#isSettling = true;
    return { events, inputs: [clearQueue(SETTLE)] };
  }

  /** pi has not answered yet whether one is in its queue. */
  get isWriting(): boolean {
    return this.#in('written').length > 0;
  }

  get isWaiting(): boolean {
    return this.#open().length > 0;
  }

  #cleared(id: string, data: Json): ProtocolStep {
    const texts = Array.isArray(data['steering']) ? data['steering'] : [];
    const back = texts.flatMap((text) => {
      const message = this.#open().find((each) => each.text === text);
      if (!message) return [];
      message.state = 'held';
      const isWanted = !message.isWithdrawn && !this.#isStopped && !this.#isOver;
      return isWanted ? [] : settle(message, 'returned');
    });
    const lost = id === SETTLE ? this.#open() : [];
    const events = [...back, ...lost.flatMap((message) => settle(message, 'returned'))];
    return { events, inputs: this.write() };
  }

  #in(state: Message['state']): Message[] {
    return [...this.#messages.values()].filter((message) => message.state === state);
  }

  #open(): Message[] {
    return [...this.#messages.values()].filter(({ state }) => state !== 'settled');
  }
}

function steer(message: Message): ProtocolInput {
  return written(message, { type: 'steer', message: message.text });
}

function written(message: Message, command: object): ProtocolInput {
  message.state = 'written';
  message.writes += 1;
  const key = keyOf(message);
  return { key, line: JSON.stringify({ id: key, ...command }) };
}

function keyOf({ id, writes }: Message): string {
  return writes < 2 ? `steer:${id}` : `steer:${id}:${writes}`;
}

function clearQueue(key: string): ProtocolInput {
  return { key, line: JSON.stringify({ id: key, type: 'clear_queue' }) };
}

function settle(message: Message, type: 'delivered' | 'returned'): HarnessEvent[] {
  message.state = 'settled';
  return [{ type, messageId: message.id }];
}
