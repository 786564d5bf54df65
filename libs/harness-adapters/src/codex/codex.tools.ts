/** The tool calls of a turn of Codex that the model waits for. */
import { textAt, type Json } from '../json-line.ts';

/** Items that are words and no call. */
const WORDS = new Set(['userMessage', 'agentMessage', 'reasoning', 'plan', 'hookPrompt']);

export class CodexTools {
  readonly #running = new Map<string, Json>();

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** A running call's item; empty when it is not known. */
  item(id: string): Json {
    return this.#running.get(id) ?? {};
  }

  started(item: Json): void {
    if (!WORDS.has(textAt(item, 'type'))) this.#running.set(textAt(item, 'id'), item);
  }

  finished(id: string): void {
    this.#running.delete(id);
  }

  /** A reply's calls all gave a result; what still runs has gone on into the background. */
  replyEnded(): void {
    this.#running.clear();
  }
}
