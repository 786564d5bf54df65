/** Which tool calls of a turn of Codex hold its next request to the model. */
import { textAt, type Json } from '../json-line.ts';

/** Items that are the model's own words. */
const WORDS = new Set(['userMessage', 'agentMessage', 'reasoning', 'plan', 'hookPrompt']);

export class CodexTools {
  /** By item id: the item, and how many replies of the model had ended when it started. */
  readonly #running = new Map<string, { item: Json; reply: number }>();
  #replies = 0;

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** A running call's item; empty when it is not known. */
  item(id: string): Json {
    return this.#running.get(id)?.item ?? {};
  }

  started(item: Json): void {
    this.#forgetBefore(this.#replies);
    if (WORDS.has(textAt(item, 'type'))) return;
    this.#running.set(textAt(item, 'id'), { item, reply: this.#replies });
  }

  finished(id: string): void {
    this.#running.delete(id);
  }

  /** One reply of the model is whole (its tokens are counted). */
  replyEnded(): void {
    this.#replies += 1;
    this.#forgetBefore(this.#replies - 1);
  }

  /** The model was asked again since: such a call has gone on into the background. */
  #forgetBefore(reply: number): void {
    for (const [id, running] of this.#running) {
      if (running.reply < reply) this.#running.delete(id);
    }
  }
}
