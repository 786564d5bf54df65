import { HangarError } from '@hangar/contracts';
import type { AnswerCredential, CredentialAnswer, SandboxRef } from '../sandbox-driver.ts';
import { throwWireError } from './io-answers.ts';
import { lostToUnavailable, type OpenStream } from './io-request.ts';
import type { Document, MuxStream } from './wire/mux-stream.ts';
import { CREDENTIALS_WAITING_MAX } from './wire/protocol.ts';

/** Attributes of one request, and characters of one; git sends fewer than ten. */
const ATTRIBUTES_MAX = 32;
const ATTRIBUTE_CHARACTERS_MAX = 4096;
/** An answer is one control document, with room for its escapes. */
const OUTPUT_BYTES_MAX = 24 * 1024;

/** Answers a sandbox's requests until it is gone, the signal says so or the connection is lost. */
export const serveCredentials = async (
  open: OpenStream,
  ref: SandboxRef,
  answer: AnswerCredential,
  signal: AbortSignal,
): Promise<void> => {
  if (signal.aborted) return;
  const stream = await open(ref, { op: 'credentials' });
  if (!stream) return;
  const stop = (): void => stream.abandon();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  let underWay = 0;
  stream.onMessage((message) => {
    if (underWay >= CREDENTIALS_WAITING_MAX) return;
    underWay += 1;
    void handle(stream, message, answer).finally(() => {
      underWay -= 1;
    });
  });
  try {
    throwWireError(await stream.result);
  } catch (error) {
    if (!signal.aborted) lostToUnavailable(error);
  } finally {
    signal.removeEventListener('abort', stop);
  }
};

const handle = async (
  stream: MuxStream,
  message: Document,
  answer: AnswerCredential,
): Promise<void> => {
  const attributes = readAttributes(message.attributes);
  const found = attributes
    ? await answer(attributes, stream.cancelled).catch(refusalOf)
    : { refused: 'the request is malformed' };
  stream.send({ id: Number(message.id), ...withinBounds(found) });
};

const refusalOf = (error: unknown): CredentialAnswer => {
  const { message, hint } = HangarError.from(error);
  return { refused: hint ? `${message}; ${hint}` : message };
};

const withinBounds = (answer: CredentialAnswer): CredentialAnswer =>
  'output' in answer && Buffer.byteLength(answer.output) > OUTPUT_BYTES_MAX
    ? { refused: `a credential has at most ${OUTPUT_BYTES_MAX} bytes` }
    : answer;

/** What comes out of a sandbox is the agent's word; null for what is no request. */
const readAttributes = (value: unknown): Record<string, string> | null => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const entries = Object.entries(value as Record<string, unknown>);
  const isOne = entries.every(
    ([name, text]) =>
      typeof text === 'string' && name.length + text.length <= ATTRIBUTE_CHARACTERS_MAX,
  );
  return isOne && entries.length <= ATTRIBUTES_MAX
    ? (Object.fromEntries(entries) as Record<string, string>)
    : null;
};
