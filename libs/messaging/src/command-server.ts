import { HangarError } from '@hangar/contracts';
import type { Msg, NatsConnection, Subscription } from '@nats-io/nats-core';
import { decodeHeaders, type CommandHeaders, type Reply } from './command-wire.ts';
import type { Aggregate } from './event.ts';
import type { Json } from './json.ts';
import { commandSubject } from './jetstream/subjects.ts';
import { isTransientDatabaseError } from './postgres/transaction.ts';

export interface CommandServerOptions {
  nats: NatsConnection;
  aggregate: Aggregate;
  /** By name of the command. What they throw is sent back as a HangarError. */
  handlers: Record<string, (body: Json, headers: CommandHeaders) => Promise<Json>>;
  /** Commands worked on at once in this process; more are refused with `exhausted`. */
  concurrency?: number;
  onError?(error: unknown): void;
}

export interface CommandServer {
  start(): void;
  /** Takes no new command, answers those it has, then returns. */
  stop(): Promise<void>;
}

const CONCURRENCY = 256;

/** Receives the commands of one aggregate; replicas share them as one queue group. */
export function createCommandServer(options: CommandServerOptions): CommandServer {
  const { nats, aggregate, handlers, concurrency = CONCURRENCY } = options;
  const working = new Set<Promise<void>>();
  const subscriptions: Subscription[] = [];

  const receive = (command: string, message: Msg): void => {
    if (working.size >= concurrency) {
      const error = new HangarError('exhausted', `${concurrency} commands are being worked on`, {
        hint: 'Try again in a moment.',
      });
      message.respond(JSON.stringify({ error: error.toJSON() } satisfies Reply));
      return;
    }
    const work = answer(options, command, message).finally(() => working.delete(work));
    working.add(work);
  };

  return {
    start: () => {
      for (const command of Object.keys(handlers)) {
        const subscription = nats.subscribe(commandSubject(aggregate, command), {
          queue: `hangar-${aggregate}`,
          callback: (error, message) => {
            if (error) options.onError?.(error);
            else receive(command, message);
          },
        });
        subscriptions.push(subscription);
      }
    },
    stop: async () => {
      if (!nats.isClosed()) await Promise.all(subscriptions.map((s) => s.drain()));
      await Promise.all(working);
    },
  };
}

async function answer(options: CommandServerOptions, command: string, message: Msg): Promise<void> {
  let reply: Reply;
  try {
    const body = message.json<Json>();
    const result = await options.handlers[command]?.(body, decodeHeaders(message.headers));
    reply = { result: result ?? null };
  } catch (thrown) {
    const error = isTransientDatabaseError(thrown)
      ? new HangarError('unavailable', 'the database cannot be reached; nothing was changed', {
          hint: 'Try again in a moment; "hangar doctor" shows what is up.',
          cause: thrown,
        })
      : HangarError.from(thrown);
    // This is the edge of the service: only here an unexpected error is reported.
    if (error.code === 'internal') options.onError?.(thrown);
    reply = { error: error.toJSON() };
  }
  if (!options.nats.isClosed()) message.respond(JSON.stringify(reply));
}
