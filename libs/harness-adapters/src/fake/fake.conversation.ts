/** The fake harness keeps a conversation as `.fake-harness/sessions/<id>.jsonl`. */
import { objectsOf, readLines, writeLines } from '../conversation-lines.ts';
import type { ConversationCheck, ConversationFiles } from '../harness-adapter.ts';
import { textAt } from '../json-line.ts';

export function checkFakeConversation(
  bytes: Uint8Array,
  where: { path: string; conversationId: string },
): ConversationCheck {
  const { path, conversationId } = where;
  const { lines, isUnfinished } = readLines(bytes);
  const first = lines[0]?.json ?? {};
  if (first['type'] !== 'session' || textAt(first, 'id') !== conversationId) {
    return { state: 'missing', reason: `${path} does not begin with its session record` };
  }
  const readable = lines.filter(({ json }) => json !== null);
  const users = objectsOf(readable).filter((json) => json['type'] === 'user');
  const lastEntry = textAt(users.at(-1) ?? {}, 'id') || null;
  const entries = readable.length;
  const unreadable = lines.length - entries;
  if (unreadable === 0 && !isUnfinished) return { state: 'intact', path, entries, lastEntry };
  const lost = unreadable === 0 ? 'nothing' : `${unreadable} line(s) that cannot be read`;
  return { state: 'damaged', path, entries, lost, repaired: writeLines(readable) };
}

export async function checkFake(
  files: ConversationFiles,
  where: { home: string; cwd: string; conversationId: string },
): Promise<ConversationCheck> {
  const path = `${where.home}/.fake-harness/sessions/${where.conversationId}.jsonl`;
  const bytes = await files.read(path);
  if (bytes === null) return { state: 'missing', reason: `${path} is not there` };
  return checkFakeConversation(bytes, { path, conversationId: where.conversationId });
}
