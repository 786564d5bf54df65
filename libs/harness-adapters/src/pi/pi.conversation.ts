/**
 * pi keeps a conversation as one file, `<time>_<id>.jsonl`, in a directory named after the
 * working directory. It finds it by the id and cwd of the first line; a damaged first line makes
 * it start over silently, a bad line in the middle hides everything above it.
 */
import {
  isWhole,
  lostWords,
  mendChain,
  readLines,
  writeLines,
  type ChainShape,
  type ConversationLine,
} from '../conversation-lines.ts';
import type { ConversationCheck, ConversationFiles } from '../harness-adapter.ts';
import { listAt, objectAt, textAt, type Json } from '../json-line.ts';

const message = (json: Json): Json => objectAt(json, 'message');

const SHAPE: ChainShape = {
  id: (json) => (json['type'] === 'session' ? null : textAt(json, 'id') || null),
  parent: (json) => textAt(json, 'parentId') || null,
  withParent: (json, parent) => ({ ...json, parentId: parent }),
  calls: (json) =>
    listAt(message(json), 'content')
      .filter((part) => part['type'] === 'toolCall')
      .map((part) => textAt(part, 'id')),
  answers: (json) =>
    message(json)['role'] === 'toolResult' ? [textAt(message(json), 'toolCallId')] : [],
  chain: () => 'main',
};

/** Directory of the conversations of one working directory: `/a/b` is `--a-b--`. */
export function piDirectory(home: string, cwd: string): string {
  const slug = cwd.replace(/^\//, '').replace(/[/\\:]/g, '-');
  return `${home}/.pi/agent/sessions/--${slug}--`;
}

export function checkPiConversation(
  bytes: Uint8Array,
  where: { path: string; cwd: string; conversationId: string },
): ConversationCheck {
  const { path, cwd, conversationId } = where;
  const { lines, isUnfinished } = readLines(bytes);
  if (lines.length === 0) return { state: 'missing', reason: `${path} is empty` };
  const header = lines[0]?.json ?? null;
  const isHeader = header?.['type'] === 'session';
  if (isHeader && textAt(header, 'id') !== conversationId) {
    return { state: 'missing', reason: `${path} belongs to another conversation` };
  }
  const isHere = isHeader && textAt(header, 'cwd') === cwd;
  const rest = isHeader ? lines.slice(1) : lines.slice(header === null ? 1 : 0);
  const mended = mendChain(rest, SHAPE);
  const entries = mended.lines.filter(({ json }) => json && SHAPE.id(json) !== null);
  const lastEntry = newestMessage(entries);
  if (lastEntry === null) {
    return { state: 'missing', reason: `${path} holds no message that can be read` };
  }
  if (isHere && isWhole(mended, isUnfinished)) {
    return { state: 'intact', path, entries: entries.length, lastEntry };
  }
  const whole = [isHere ? (lines[0] as ConversationLine) : headerFor(where, entries)];
  const repaired = writeLines([...whole, ...mended.lines]);
  const words = lostWords(mended, isUnfinished);
  const lost = isHere ? words : `${words} (the first line was written again)`;
  return { state: 'damaged', path, entries: entries.length, lost, repaired };
}

function newestMessage(entries: ConversationLine[]): string | null {
  const found = entries.findLast(({ json }) => json?.['type'] === 'message');
  return found?.json ? SHAPE.id(found.json) : null;
}

function headerFor(
  where: { cwd: string; conversationId: string },
  entries: ConversationLine[],
): ConversationLine {
  const timestamp = textAt(entries[0]?.json ?? {}, 'timestamp');
  const { cwd, conversationId: id } = where;
  const json = { type: 'session', version: 3, id, timestamp, cwd };
  return { text: JSON.stringify(json), json };
}

export async function checkPi(
  files: ConversationFiles,
  where: { home: string; cwd: string; conversationId: string },
): Promise<ConversationCheck> {
  const directory = piDirectory(where.home, where.cwd);
  const suffix = `_${where.conversationId}.jsonl`;
  const paths = (await files.list(directory)).filter((path) => path.endsWith(suffix)).toSorted();
  const path = paths.at(-1);
  if (path === undefined) {
    return { state: 'missing', reason: `no conversation ${where.conversationId} in ${directory}` };
  }
  const bytes = await files.read(path);
  if (bytes === null) return { state: 'missing', reason: `${path} is not there` };
  return checkPiConversation(bytes, { path, ...where });
}
