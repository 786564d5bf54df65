/**
 * Antigravity keeps a conversation as a database of SQLite, `<id>.db`. hangar does not read what is in
 * it: a file that is cut or is no database cannot be mended, and the session hands off.
 */
import type { ConversationCheck, ConversationFiles } from '../harness-adapter.ts';

export const ANTIGRAVITY_CONVERSATIONS = '.gemini/antigravity-cli/conversations';

const MAGIC = 'SQLite format 3\0';
/** Of a database's header, in bytes; the numbers in it are big-endian. */
const HEADER_BYTES = 100;
const PAGE_BYTES_AT = 16;
const CHANGES_AT = 24;
const PAGES_AT = 28;
/** The count of pages holds when it was written with the newest change. */
const PAGES_OF_CHANGE_AT = 92;

export function checkAntigravityConversation(bytes: Uint8Array, path: string): ConversationCheck {
  const isDatabase =
    bytes.byteLength >= HEADER_BYTES &&
    new TextDecoder('latin1').decode(bytes.subarray(0, MAGIC.length)) === MAGIC;
  if (!isDatabase) return { state: 'missing', reason: `${path} is not a database` };
  const header = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES);
  const written = header.getUint16(PAGE_BYTES_AT);
  const pageBytes = written === 1 ? 65_536 : written;
  const changes = header.getUint32(CHANGES_AT);
  const pages = header.getUint32(PAGES_AT);
  const isCounted = changes === header.getUint32(PAGES_OF_CHANGE_AT);
  const isCut = bytes.byteLength % pageBytes !== 0 || bytes.byteLength < pages * pageBytes;
  if (isCounted && isCut) return { state: 'missing', reason: `${path} is cut` };
  return { state: 'intact', path, entries: changes, lastEntry: String(changes) };
}

export async function checkAntigravity(
  files: ConversationFiles,
  where: { home: string; cwd: string; conversationId: string },
): Promise<ConversationCheck> {
  const path = `${where.home}/${ANTIGRAVITY_CONVERSATIONS}/${where.conversationId}.db`;
  const bytes = await files.read(path);
  if (bytes !== null) return checkAntigravityConversation(bytes, path);
  const reason = `no conversation ${where.conversationId} in ${ANTIGRAVITY_CONVERSATIONS}`;
  return { state: 'missing', reason };
}
