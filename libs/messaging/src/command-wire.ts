import { HangarError, type ErrorJson } from '@hangar/contracts';
import { headers, type MsgHdrs } from '@nats-io/nats-core';
import type { Json } from './json.ts';

/** Headers that travel with a command: trace, actor, correlation. Names keep their case. */
export type CommandHeaders = Record<string, string>;

/** Answer of a command's owner. */
export type Reply = { result: Json } | { error: ErrorJson };

export function encodeHeaders(values: CommandHeaders): MsgHdrs {
  const set = headers();
  for (const [name, value] of Object.entries(values)) set.set(name, encodeURIComponent(value));
  return set;
}

export function decodeHeaders(set: MsgHdrs | undefined): CommandHeaders {
  const values: CommandHeaders = {};
  for (const name of set?.keys() ?? []) values[name] = decodeURIComponent(set?.get(name) ?? '');
  return values;
}

export function decodeReply(text: string): Json {
  const reply = JSON.parse(text) as Reply;
  if ('error' in reply) throw HangarError.fromJSON(reply.error);
  return reply.result;
}
