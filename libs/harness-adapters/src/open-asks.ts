/**
 * What a running turn waits for, and what people said to it. A service that restarts tells their
 * answers before it reads the lines in which the agent asks: an answer waits here for its ask.
 */
import type { Answer, Ask, HarnessEvent, ProtocolInput, ProtocolStep } from './harness-adapter.ts';

const NOTHING: ProtocolStep = { events: [], inputs: [] };

export class OpenAsks {
  /** By ask id: what tells the harness its answer. */
  readonly #open = new Map<string, (answer: Answer) => ProtocolInput[]>();
  readonly #answers = new Map<string, Answer>();
  readonly #interrupt: () => ProtocolInput[];
  #isDeferring = false;

  /** `interrupt` ends the turn of a harness that cannot keep its open asks itself. */
  constructor(interrupt: () => ProtocolInput[]) {
    this.#interrupt = interrupt;
  }

  get isDeferring(): boolean {
    return this.#isDeferring;
  }

  asked(ask: Ask, tell: (answer: Answer) => ProtocolInput[]): ProtocolStep {
    const asked: HarnessEvent = { type: 'asked', ask };
    const answer = this.#answers.get(ask.id);
    const closed: HarnessEvent = { type: 'ask_closed', id: ask.id };
    if (answer) return { events: [asked, closed], inputs: tell(answer) };
    if (this.#isDeferring) return { events: [asked, closed], inputs: this.#interrupt() };
    this.#open.set(ask.id, tell);
    return { events: [asked], inputs: [] };
  }

  answer(id: string, answer: Answer): ProtocolStep {
    if (this.#answers.has(id) || this.#isDeferring) return NOTHING;
    this.#answers.set(id, answer);
    const tell = this.#open.get(id);
    if (!tell) return NOTHING;
    return { events: this.close(id), inputs: tell(answer) };
  }

  /** From then on what is asked is deferred: it does not matter which of the two came first. */
  defer(): ProtocolStep {
    if (this.#isDeferring) return NOTHING;
    this.#isDeferring = true;
    if (this.#open.size === 0) return NOTHING;
    return { events: this.closeAll(), inputs: this.#interrupt() };
  }

  /** The harness does not wait for it any more. */
  close(id: string): HarnessEvent[] {
    return this.#open.delete(id) ? [{ type: 'ask_closed', id }] : [];
  }

  closeAll(): HarnessEvent[] {
    return [...this.#open.keys()].flatMap((id) => this.close(id));
  }
}
