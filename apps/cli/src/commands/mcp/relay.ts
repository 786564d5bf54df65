import type { McpCalls } from '@hangar/client';
import { HangarError } from '@hangar/contracts';

/** Requests that wait for their answer at once; more are refused. */
const REQUESTS_MAX = 64;
const PARSE_ERROR = -32_700;
const INTERNAL_ERROR = -32_603;
/** Where a message of the newer protocol says which one it speaks. */
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

export interface RelayOptions {
  /** Messages of the agent, one a line. */
  lines: AsyncIterable<string>;
  pass: McpCalls['pass'];
  /** A message for the agent, without its line end. */
  write(text: string): void;
  /** For the person who looks at the agent's log. */
  warn(text: string): void;
  /** What happened, and what to do next. */
  explain(error: unknown): string;
}

/** What of a JSON-RPC message matters on the way. */
interface Message {
  id?: string | number | null;
  method?: string;
  params?: {
    requestId?: string | number;
    name?: unknown;
    uri?: unknown;
    _meta?: Record<string, unknown>;
  };
  result?: { protocolVersion?: unknown };
}

type Id = string | number;

/**
 * Passes messages on as they are, each by a call of its own, until the input ends; then nobody is
 * left to read an answer. What cannot be passed on is answered with an error of the protocol.
 */
export async function relay(options: RelayOptions): Promise<void> {
  const { lines, write } = options;
  const wire = new Wire(options);
  for await (const line of lines) {
    if (line.trim() === '') continue;
    const messages = messagesOf(line);
    if (messages) wire.take(line, messages);
    else write(errorOf(null, PARSE_ERROR, 'This line is not JSON.'));
  }
  await wire.close();
}

class Wire {
  readonly #options: RelayOptions;
  readonly #waiting = new Map<Id, AbortController>();
  readonly #passing = new Set<Promise<void>>();
  /** What the older protocol agreed on when it began; the newer says it in each message. */
  #version: string | undefined;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  take(line: string, messages: Message[]): void {
    const [first] = messages;
    if (first?.method === 'notifications/cancelled') {
      // The server knows no request but by its connection: ending that one cancels it.
      const id = first.params?.requestId;
      if (id !== undefined) this.#waiting.get(id)?.abort();
      return;
    }
    const ids = messages.flatMap(({ id, method }) => (method && id != null ? [id] : []));
    if (this.#waiting.size + ids.length > REQUESTS_MAX) {
      const text = `${REQUESTS_MAX} requests wait already. Wait for one to end, and try again.`;
      for (const id of ids) this.#options.write(errorOf(id, INTERNAL_ERROR, text));
      return;
    }
    const passing = this.#pass(line, ids, this.#headersOf(first)).finally(() =>
      this.#passing.delete(passing),
    );
    this.#passing.add(passing);
  }

  async close(): Promise<void> {
    for (const waiting of this.#waiting.values()) waiting.abort();
    await Promise.all(this.#passing);
  }

  async #pass(line: string, ids: Id[], headers: Record<string, string>): Promise<void> {
    const { pass, write, warn, explain } = this.#options;
    const stop = new AbortController();
    for (const id of ids) this.#waiting.set(id, stop);
    const unanswered = new Set<Id>(ids);
    try {
      for await (const text of pass(line, headers, { signal: stop.signal })) {
        for (const message of messagesOf(text) ?? []) {
          if (message.method === undefined && message.id != null) unanswered.delete(message.id);
          const version = message.result?.protocolVersion;
          if (typeof version === 'string') this.#version = version;
          write(JSON.stringify(message));
        }
      }
      if (unanswered.size > 0) throw lineEnded();
    } catch (error) {
      if (stop.signal.aborted) return;
      const text = explain(error);
      warn(text);
      for (const id of unanswered) write(errorOf(id, INTERNAL_ERROR, text));
    } finally {
      for (const id of ids) this.#waiting.delete(id);
    }
  }

  /** What the HTTP form of the protocol repeats of a message. */
  #headersOf(message: Message | undefined): Record<string, string> {
    const { method, params } = message ?? {};
    const own = params?._meta?.[VERSION_KEY];
    const version = typeof own === 'string' ? own : this.#version;
    const name = params?.name ?? params?.uri;
    return {
      ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
      ...(typeof own === 'string' && method ? { 'mcp-method': method } : {}),
      ...(typeof own === 'string' && isHeaderText(name) ? { 'mcp-name': name } : {}),
    };
  }
}

/** One message, or several in a list; null for what is no JSON. */
function messagesOf(text: string): Message[] | null {
  try {
    const value = JSON.parse(text) as Message | Message[] | null;
    return [value]
      .flat()
      .filter((each): each is Message => typeof each === 'object' && each !== null);
  } catch {
    return null; // Not JSON: the caller says what that means.
  }
}

/** Names of tools are; of what is not the server says so. */
const isHeaderText = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21-\x7e]+$/.test(value);

const errorOf = (id: Id | null, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });

const lineEnded = (): HangarError =>
  new HangarError('unavailable', 'The server ended the line before its answer', {
    hint: 'What was asked may be done: look with get_session before you try again.',
  });
