import { HangarError } from '@hangar/contracts';
import {
  NoRespondersError,
  RequestError,
  TimeoutError,
  type NatsConnection,
} from '@nats-io/nats-core';
import type { Aggregate } from './event.ts';
import type { Json } from './json.ts';
import { commandSubject } from './jetstream/subjects.ts';
import { decodeReply, encodeHeaders, type CommandHeaders } from './command-wire.ts';

export interface CommandClientOptions {
  nats: NatsConnection;
  /** How long a command may take, in milliseconds; 10 s when left out. */
  timeoutMs?: number;
}

export interface CommandClient {
  /**
   * Sends a command to the one owner of the aggregate and returns its answer. Its refusal is
   * thrown as it was; `unavailable` when nobody answers, and then it may or may not be done:
   * send it again with the same idempotency key.
   */
  send(
    aggregate: Aggregate,
    command: string,
    body: Json,
    options?: { headers?: CommandHeaders; timeoutMs?: number },
  ): Promise<Json>;
}

const TIMEOUT_MS = 10_000;

export function createCommandClient(options: CommandClientOptions): CommandClient {
  return {
    send: async (aggregate, command, body, call = {}) => {
      const timeout = call.timeoutMs ?? options.timeoutMs ?? TIMEOUT_MS;
      const subject = commandSubject(aggregate, command);
      const headers = encodeHeaders(call.headers ?? {});
      let text: string;
      try {
        const reply = await options.nats.request(subject, JSON.stringify(body), {
          timeout,
          headers,
        });
        text = reply.string();
      } catch (error) {
        throw unanswered(aggregate, command, timeout, error);
      }
      return decodeReply(text);
    },
  };
}

function unanswered(
  aggregate: string,
  command: string,
  timeoutMs: number,
  cause: unknown,
): HangarError {
  const inner = cause instanceof RequestError ? cause.cause : cause;
  if (inner instanceof NoRespondersError) {
    return new HangarError(
      'unavailable',
      `nobody handles ${command}: no ${aggregate} service runs`,
      {
        hint: 'Try again in a moment; "hangar doctor" shows which services are up.',
        cause,
      },
    );
  }
  const message =
    inner instanceof TimeoutError
      ? `${command} was not answered within ${timeoutMs} ms; it may still be done`
      : `${command} could not be sent`;
  const hint = 'Look at the current state, then send it again if needed.';
  return new HangarError('unavailable', message, { hint, cause });
}
