/**
 * Codex keeps a conversation as one "rollout" file below `.codex/sessions/YYYY/MM/DD`, found by
 * the thread id at the end of its name. The first line must be its `session_meta`; any other bad
 * line costs that line only. A thread forked natively also needs its parent's file.
 */
import { objectsOf, readLines, writeLines } from '../conversation-lines.ts';
import type { ConversationCheck, ConversationFiles } from '../harness-adapter.ts';
import { objectAt, textAt, type Json } from '../json-line.ts';

const SESSIONS = '.codex/sessions';

export function checkCodexConversation(
  bytes: Uint8Array,
  where: { path: string; conversationId: string },
): ConversationCheck {
  const { path, conversationId } = where;
  const { lines, isUnfinished } = readLines(bytes);
  const first = lines[0]?.json ?? null;
  if (first?.['type'] !== 'session_meta') {
    return { state: 'missing', reason: `${path} does not begin with its session record` };
  }
  if (textAt(objectAt(first, 'payload'), 'id') !== conversationId) {
    return { state: 'missing', reason: `${path} belongs to another conversation` };
  }
  const readable = lines.filter(({ json }) => json !== null);
  const unreadable = lines.length - readable.length;
  const entries = readable.length;
  const lastEntry = newestMessage(objectsOf(readable));
  if (unreadable === 0 && !isUnfinished) return { state: 'intact', path, entries, lastEntry };
  const lost =
    unreadable === 0
      ? 'nothing; the last line was not finished'
      : `${unreadable} ${unreadable === 1 ? 'line' : 'lines'} that cannot be read`;
  return { state: 'damaged', path, entries, lost, repaired: writeLines(readable) };
}

function newestMessage(entries: Json[]): string | null {
  const messages = entries
    .filter((entry) => entry['type'] === 'response_item')
    .map((entry) => objectAt(entry, 'payload'))
    .filter((payload) => payload['type'] === 'message' && textAt(payload, 'id') !== '');
  const last = messages.at(-1);
  return last === undefined ? null : textAt(last, 'id');
}

export async function checkCodex(
  files: ConversationFiles,
  where: { home: string; cwd: string; conversationId: string },
): Promise<ConversationCheck> {
  const paths = await files.list(`${where.home}/${SESSIONS}`);
  const path = rolloutOf(paths, where.conversationId);
  if (path === undefined) {
    return { state: 'missing', reason: `no conversation ${where.conversationId} in ${SESSIONS}` };
  }
  const bytes = await files.read(path);
  if (bytes === null) return { state: 'missing', reason: `${path} is not there` };
  const parent = parentThread(bytes);
  if (parent !== null && rolloutOf(paths, parent) === undefined) {
    return { state: 'missing', reason: `the conversation it was forked from (${parent}) is gone` };
  }
  return checkCodexConversation(bytes, { path, conversationId: where.conversationId });
}

function rolloutOf(paths: string[], threadId: string): string | undefined {
  return paths
    .filter((path) => path.endsWith(`-${threadId}.jsonl`))
    .toSorted()
    .at(-1);
}

function parentThread(bytes: Uint8Array): string | null {
  const first = readLines(bytes).lines[0]?.json ?? {};
  return textAt(objectAt(objectAt(first, 'payload'), 'history_base'), 'thread_id') || null;
}
