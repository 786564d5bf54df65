/**
 * Gemini CLI keeps a conversation as a log, `session-<minute>-<first 8 of its id>.jsonl`, in a
 * directory of the working directory's own: a header, then messages, of which a later one replaces
 * one of the same id, and `$set` and `$rewindTo` records. It skips what it cannot read.
 *
 * A resume within the minute of the first start writes an empty list of messages into the log
 * before the whole one: one that dies in between leaves the conversation empty.
 */
import { createHash } from 'node:crypto';
import { objectsOf, readLines, writeLines, type ConversationLine } from '../conversation-lines.ts';
import type { ConversationCheck, ConversationFiles } from '../harness-adapter.ts';
import { contentText, listAt, objectAt, textAt, type Json } from '../json-line.ts';

const SESSIONS = '.gemini/tmp';

export function checkGeminiConversation(
  bytes: Uint8Array,
  where: { path: string; cwd: string; conversationId: string },
): ConversationCheck {
  const { path, conversationId } = where;
  const { lines, isUnfinished } = readLines(bytes);
  const readable = lines.filter(({ json }) => json !== null);
  const ids = objectsOf(readable).map((json) => textAt(json, 'sessionId'));
  if (ids.some((id) => id !== '' && id !== conversationId)) {
    return { state: 'missing', reason: `${path} belongs to another conversation` };
  }
  const unreadable = lines.length - readable.length;
  const whole = unreadable === 0 ? readable : withoutOrphans(readable);
  const orphans = readable.length - whole.length;
  const filled = withoutEmptying(whole);
  const isEmptied = messages(whole).size < messages(filled).size;
  const kept = isEmptied ? filled : whole;
  const known = messages(kept);
  const lastEntry = [...known.keys()].at(-1) ?? null;
  if (lastEntry === null || ![...known.values()].some(isSaid)) {
    return { state: 'missing', reason: `${path} holds no message that can be read` };
  }
  const isHeaded = isHeader(kept[0]?.json ?? {});
  const entries = kept.length;
  if (isHeaded && unreadable === 0 && !isEmptied && !isUnfinished) {
    return { state: 'intact', path, entries, lastEntry };
  }
  const lost = [
    ...(unreadable === 0 ? [] : [counted(unreadable, 'line', 'that cannot be read')]),
    ...(orphans === 0 ? [] : [counted(orphans, 'tool result', 'without its call')]),
    ...(isHeaded ? [] : ['nothing of the first line, which was written again']),
    ...(isEmptied ? ['nothing; a resume that failed had emptied it'] : []),
  ];
  return {
    state: 'damaged',
    path,
    entries,
    lost: lost.join(' and ') || 'nothing; the last line was not finished',
    repaired: writeLines(isHeaded ? kept : [headerFor(where, kept), ...kept]),
  };
}

function counted(count: number, noun: string, what: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'} ${what}`;
}

/** The messages as Gemini CLI would load them. */
function messages(lines: ConversationLine[]): Map<string, Json> {
  const known = new Map<string, Json>();
  for (const json of objectsOf(lines)) {
    const rewound = textAt(json, '$rewindTo');
    const set = objectAt(json, '$set');
    if (rewound !== '') {
      const ids = [...known.keys()];
      for (const id of ids.slice(Math.max(0, ids.indexOf(rewound)))) known.delete(id);
    } else if (textAt(json, 'id') !== '') {
      known.set(textAt(json, 'id'), json);
    } else if (Array.isArray(set['messages'])) {
      known.clear();
      for (const message of listAt(set, 'messages')) known.set(textAt(message, 'id'), message);
    }
  }
  return known;
}

/** Something a person or the agent said, and not only the context that Gemini CLI adds. */
function isSaid(message: Json): boolean {
  const text = contentText(message['content']).trim();
  if (message['type'] !== 'user') return text !== '' || listAt(message, 'toolCalls').length > 0;
  return text !== '' && !text.startsWith('<session_context>');
}

/** The first list of messages, before any message, rightly holds only the context. */
function withoutEmptying(lines: ConversationLine[]): ConversationLine[] {
  const first = lines.findIndex(({ json }) => textAt(json ?? {}, 'id') !== '');
  return lines.filter(({ json }, index) => {
    const set = objectAt(json ?? {}, '$set');
    const isEmptying = Array.isArray(set['messages']) && !listAt(set, 'messages').some(isSaid);
    return index < first || !isEmptying;
  });
}

/** A provider refuses the result of a call that is not there. */
function withoutOrphans(lines: ConversationLine[]): ConversationLine[] {
  const all = objectsOf(lines).flatMap((json) => [
    json,
    ...listAt(objectAt(json, '$set'), 'messages'),
  ]);
  const calls = new Set(all.flatMap((json) => listAt(json, 'toolCalls').map(({ id }) => id)));
  return lines.filter(({ json }) =>
    listAt(json ?? {}, 'content').every((part) => {
      const response = objectAt(part, 'functionResponse');
      return response['id'] === undefined || calls.has(response['id']);
    }),
  );
}

function isHeader(json: Json): boolean {
  return textAt(json, 'sessionId') !== '' && textAt(json, 'projectHash') !== '';
}

function headerFor(
  { cwd, conversationId }: { cwd: string; conversationId: string },
  lines: ConversationLine[],
): ConversationLine {
  const times = objectsOf(lines).map((json) => textAt(json, 'timestamp'));
  const json = {
    sessionId: conversationId,
    projectHash: createHash('sha256').update(cwd).digest('hex'),
    startTime: times.find((time) => time !== '') ?? '',
    lastUpdated: times.findLast((time) => time !== '') ?? '',
    kind: 'main',
  };
  return { text: JSON.stringify(json), json };
}

export async function checkGemini(
  files: ConversationFiles,
  where: { home: string; cwd: string; conversationId: string },
): Promise<ConversationCheck> {
  const paths = await files.list(`${where.home}/${SESSIONS}`);
  const chats = `${await projectDirectory(files, paths, where.cwd)}/chats/`;
  const suffix = `-${where.conversationId.slice(0, 8)}.jsonl`;
  let check: ConversationCheck = {
    state: 'missing',
    reason: `no conversation ${where.conversationId} in ${SESSIONS}`,
  };
  const found = paths.filter((path) => path.startsWith(chats) && path.endsWith(suffix));
  // A resume leaves a file beside it, with nothing in it: the first is the conversation.
  for (const path of found.toSorted()) {
    const bytes = await files.read(path);
    if (bytes !== null) check = checkGeminiConversation(bytes, { path, ...where });
    if (check.state !== 'missing') return check;
  }
  return check;
}

/** Named after the last part of the working directory, or with a number behind it. */
async function projectDirectory(
  files: ConversationFiles,
  paths: string[],
  cwd: string,
): Promise<string | null> {
  const marker = '/.project_root';
  for (const path of paths.filter((each) => each.endsWith(marker))) {
    const root = new TextDecoder().decode((await files.read(path)) ?? new Uint8Array());
    if (root.trim() === cwd) return path.slice(0, -marker.length);
  }
  return null;
}
