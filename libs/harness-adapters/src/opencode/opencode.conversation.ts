/**
 * The bridge keeps a conversation as one file, `<id>.jsonl`: a line for the session, then a line
 * for each message with its parts. A lost message costs that message; the session's line can be
 * written again.
 */
import { objectsOf, readLines, writeLines, type ConversationLine } from '../conversation-lines.ts';
import type { ConversationCheck, ConversationFiles } from '../harness-adapter.ts';
import { objectAt, textAt, type Json } from '../json-line.ts';

export const CONVERSATIONS = '.local/share/hangar-opencode';

export function checkOpencodeConversation(
  bytes: Uint8Array,
  where: { path: string; cwd: string; conversationId: string },
): ConversationCheck {
  const { path, conversationId } = where;
  const { lines, isUnfinished } = readLines(bytes);
  const readable = lines.filter(({ json }) => json !== null);
  const unreadable = lines.length - readable.length;
  const messages = readable.filter(({ json }) => isMessage(json ?? {}));
  const owners = objectsOf(readable).map(ownerOf);
  if (owners.some((owner) => owner !== conversationId)) {
    return { state: 'missing', reason: `${path} belongs to another conversation` };
  }
  const last = messages.at(-1)?.json;
  if (!last) return { state: 'missing', reason: `${path} holds no message that can be read` };
  const lastEntry = textAt(objectAt(last, 'info'), 'id');
  const first = readable[0];
  const isHeaded = first !== undefined && !isMessage(first.json ?? {});
  const entries = messages.length;
  if (isHeaded && unreadable === 0 && !isUnfinished) {
    return { state: 'intact', path, entries, lastEntry };
  }
  const lost =
    unreadable === 0
      ? 'nothing; the last line was not finished'
      : `${unreadable} ${unreadable === 1 ? 'line' : 'lines'} that cannot be read`;
  const whole = [isHeaded ? first : sessionFor(where, last), ...messages];
  return { state: 'damaged', path, entries, lost, repaired: writeLines(whole) };
}

const isMessage = (json: Json): boolean => textAt(objectAt(json, 'info'), 'role') !== '';

function ownerOf(json: Json): string {
  const info = objectAt(json, 'info');
  return textAt(info, isMessage(json) ? 'sessionID' : 'id');
}

/** The least that `opencode import` takes; it makes the directory's project of it by itself. */
function sessionFor(
  { cwd, conversationId }: { cwd: string; conversationId: string },
  message: Json,
): ConversationLine {
  const time = objectAt(objectAt(message, 'info'), 'time')['created'] ?? 0;
  const info = {
    id: conversationId,
    slug: 'hangar',
    projectID: 'global',
    directory: cwd,
    title: 'hangar',
    version: '1',
    time: { created: time, updated: time },
  };
  const json = { info };
  return { text: JSON.stringify(json), json };
}

export async function checkOpencode(
  files: ConversationFiles,
  where: { home: string; cwd: string; conversationId: string },
): Promise<ConversationCheck> {
  const path = `${where.home}/${CONVERSATIONS}/${where.conversationId}.jsonl`;
  const bytes = await files.read(path);
  if (bytes === null) {
    const reason = `no conversation ${where.conversationId} in ${CONVERSATIONS}`;
    return { state: 'missing', reason };
  }
  return checkOpencodeConversation(bytes, { path, ...where });
}
