/**
 * Claude Code keeps a conversation as `~/.claude/projects/<slug>/<id>.jsonl`, a chain in which
 * each entry names its parent. It skips lines it cannot read without a word, and everything
 * above a break is then gone from the model's context: so the chain is checked and mended here.
 */
import {
  isWhole,
  lostWords,
  mendChain,
  objectsOf,
  readLines,
  writeLines,
  type ChainShape,
} from '../conversation-lines.ts';
import type { ConversationCheck, ConversationFiles } from '../harness-adapter.ts';
import { listAt, objectAt, textAt, type Json } from '../json-line.ts';

/** Longest directory name that Claude Code uses as it is. */
const SLUG_CHARACTERS_MAX = 200;

const parts = (json: Json, type: string): Json[] =>
  listAt(objectAt(json, 'message'), 'content').filter((part) => part['type'] === type);

const SHAPE: ChainShape = {
  id: (json) => textAt(json, 'uuid') || null,
  parent: (json) => textAt(json, 'parentUuid') || null,
  withParent: (json, parent) => ({ ...json, parentUuid: parent }),
  calls: (json) => parts(json, 'tool_use').map((part) => textAt(part, 'id')),
  answers: (json) => parts(json, 'tool_result').map((part) => textAt(part, 'tool_use_id')),
  chain: (json) => (json['isSidechain'] === true ? `side ${textAt(json, 'agentId')}` : 'main'),
};

/**
 * The directory of one working directory's conversations: anything but letters and digits
 * becomes `-`, per UTF-16 unit; long names are cut and get a hash. `cwd` is a real path.
 */
export function claudeSlug(cwd: string): string {
  const path = cwd.normalize('NFC');
  const slug = path.replace(/[^A-Za-z0-9]/g, '-');
  if (slug.length <= SLUG_CHARACTERS_MAX) return slug;
  let hash = 0;
  for (let index = 0; index < path.length; index += 1) {
    hash = (Math.imul(hash, 31) + path.charCodeAt(index)) | 0;
  }
  return `${slug.slice(0, SLUG_CHARACTERS_MAX)}-${Math.abs(hash).toString(36)}`;
}

export function checkClaudeConversation(
  bytes: Uint8Array,
  where: { path: string },
): ConversationCheck {
  const { path } = where;
  const { lines, isUnfinished } = readLines(bytes);
  const mended = mendChain(lines, SHAPE);
  const linked = objectsOf(mended.lines).filter((json) => SHAPE.id(json) !== null);
  const lastEntry = newestMessage(linked);
  if (lastEntry === null) {
    return { state: 'missing', reason: `${path} holds no message that can be read` };
  }
  const entries = linked.length;
  if (isWhole(mended, isUnfinished)) return { state: 'intact', path, entries, lastEntry };
  const repaired = writeLines(mended.lines);
  return { state: 'damaged', path, entries, lost: lostWords(mended, isUnfinished), repaired };
}

function newestMessage(entries: Json[]): string | null {
  const found = entries.findLast(
    (json) =>
      (json['type'] === 'user' || json['type'] === 'assistant') && json['isSidechain'] !== true,
  );
  return found === undefined ? null : SHAPE.id(found);
}

export async function checkClaude(
  files: ConversationFiles,
  where: { home: string; cwd: string; conversationId: string },
): Promise<ConversationCheck> {
  const directory = `${where.home}/.claude/projects/${claudeSlug(where.cwd)}`;
  const path = `${directory}/${where.conversationId}.jsonl`;
  const bytes = await files.read(path);
  if (bytes === null) return { state: 'missing', reason: `${path} is not there` };
  return checkClaudeConversation(bytes, { path });
}
