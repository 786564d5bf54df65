import { Readable } from 'node:stream';
import { HangarError } from '@hangar/contracts';
import type { SandboxRef } from '../sandbox-driver.ts';
import { throwWireError, withDeadline } from './io-answers.ts';
import { CHANNEL, ConnectionLost, type MuxStream } from './wire/mux-stream.ts';
import type { Operation } from './wire/protocol.ts';

/** Opens an operation; null when the sandbox is gone. Other failures throw `unavailable`. */
export type OpenStream = (ref: SandboxRef, operation: Operation) => Promise<MuxStream | null>;

/** Copies a source into a channel at the speed of the other side. */
export const sendBody = async (stream: MuxStream, body: Readable | Uint8Array): Promise<void> => {
  const source = body instanceof Readable ? body : [body];
  for await (const chunk of source) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Uint8Array);
    if (!(await stream.write(CHANNEL.in, bytes))) return;
  }
  stream.end(CHANNEL.in);
};

/** An operation with one answer. A sandbox that is gone is `not_found`. */
export const ask = async (
  open: OpenStream,
  ref: SandboxRef,
  operation: Operation,
  body: Uint8Array = new Uint8Array(),
): Promise<Record<string, unknown>> => {
  const stream = await open(ref, operation);
  if (!stream) throw goneError(ref);
  const sent = sendBody(stream, body);
  const answer = await withDeadline(stream.result.catch(lostToUnavailable), stream);
  await sent;
  throwWireError(answer);
  return answer;
};

export const goneError = (ref: SandboxRef): HangarError =>
  new HangarError('not_found', `The sandbox ${ref.id} is gone.`, {
    hint: 'Resume the session: it gets a new sandbox from its newest checkpoint.',
  });

export const lostToUnavailable = (error: unknown): never => {
  if (!(error instanceof ConnectionLost)) throw error;
  throw new HangarError('unavailable', 'The connection to the sandbox was lost.', {
    cause: error,
    hint: 'Try again; nothing is known about what was under way.',
  });
};
