import type { EventDocument } from '@hangar/contracts';
import { ADMIN_TOKEN, type GatewayStack } from './stack.ts';

export interface SseMessage {
  id: string;
  event: string;
  data: EventDocument | null;
}

/** A reader of server-sent events: collects what came, until it is closed. */
export class SseReader {
  readonly messages: SseMessage[] = [];
  readonly comments: string[] = [];
  /** As a browser keeps it: also of messages without data. */
  lastId = '';
  status = 0;
  headers = new Headers();
  readonly #abort = new AbortController();
  ended: Promise<void> = Promise.resolve();

  async open(
    stack: Pick<GatewayStack, 'url'>,
    path: string,
    headers: Record<string, string> = {},
    token = ADMIN_TOKEN,
  ): Promise<this> {
    const response = await fetch(`${stack.url}${path}`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
      signal: this.#abort.signal,
    });
    this.status = response.status;
    this.headers = response.headers;
    this.ended = this.#read(response).catch(() => undefined);
    return this;
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.ended;
  }

  get events(): EventDocument[] {
    return this.messages.flatMap(({ data }) => (data ? [data] : []));
  }

  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      rest += decoder.decode(chunk, { stream: true });
      const blocks = rest.split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) this.#take(block);
    }
  }

  #take(block: string): void {
    const message: SseMessage = { id: '', event: '', data: null };
    for (const line of block.split('\n')) {
      const colon = line.indexOf(': ');
      const value = line.slice(colon + 2);
      if (line.startsWith(':')) this.comments.push(value);
      if (line.startsWith('id: ')) message.id = value;
      if (line.startsWith('event: ')) message.event = value;
      if (line.startsWith('data: ')) message.data = JSON.parse(value) as EventDocument;
    }
    if (message.id) this.lastId = message.id;
    if (message.data) this.messages.push(message);
  }
}
