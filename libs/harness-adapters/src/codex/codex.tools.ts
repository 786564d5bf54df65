/** The tool calls of a turn of Codex that the model waits for. */
import { textAt, type Json } from '../json-line.ts';

/** Items that are words and no call. */
const WORDS = new Set(['userMessage', 'agentMessage', 'reasoning', 'plan', 'hookPrompt']);

export class CodexTools {
  readonly #running = new Map<string, Json>();
  readonly #found = new Set<string>();

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** A running call's item; empty when it is not known. */
  item(id: string): Json {
    return this.#running.get(id) ?? {};
  }

  /** The id of a running call of an MCP server's tool, each once; a subagent's is made up here. */
  mcpCall({ server, tool }: { server: string; tool: string }, turnId: string): string {
    const found = [...this.#running].find(
      ([id, item]) =>
        !this.#found.has(id) && textAt(item, 'server') === server && textAt(item, 'tool') === tool,
    );
    const id = found?.[0] ?? `${turnId}-${this.#found.size}`;
    this.#found.add(id);
    return id;
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
