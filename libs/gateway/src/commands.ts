import type { Aggregate, CommandClient, Json } from '@hangar/messaging';
import { metaOf, type Caller } from './auth/caller.ts';

/** What the owner of an aggregate answers: its version now, and the events it recorded. */
export interface Executed {
  version: number;
  events: string[];
}

/** Commands to the one owner of an aggregate; a refusal is thrown as it was decided. */
export class Commands {
  readonly #client: CommandClient;

  constructor(client: CommandClient) {
    this.#client = client;
  }

  async send(
    aggregate: Aggregate,
    command: string,
    id: string,
    data: object,
    caller: Caller,
  ): Promise<Executed> {
    return (await this.ask(aggregate, command, id, data, caller)) as unknown as Executed;
  }

  /** A command with an answer of its own. */
  ask(
    aggregate: Aggregate,
    command: string,
    id: string,
    data: object,
    caller: Caller,
    timeoutMs?: number,
  ): Promise<Json> {
    const body = { id, data, meta: metaOf(caller) } as unknown as Json;
    return this.#client.send(aggregate, command, body, timeoutMs ? { timeoutMs } : {});
  }
}
