import { describe, expect, it } from '@jest/globals';
import type { ConversationCheck } from '../harness-adapter.ts';
import { recordedBytes, withDamage } from '../testing/recorded-turn.ts';
import { checkOpencode, checkOpencodeConversation } from './opencode.conversation.ts';

const bytes = recordedBytes(import.meta.dirname, 'conversation');
const text = (from: Uint8Array): string => new TextDecoder().decode(from);
const ID: string = JSON.parse(text(bytes).split('\n')[0] ?? '').info.id;
const where = { path: '/p', cwd: '/workspace/repo', conversationId: ID };
const check = (damaged: Uint8Array): ConversationCheck => checkOpencodeConversation(damaged, where);

function repaired(found: ConversationCheck): Uint8Array {
  if (found.state !== 'damaged') throw new Error(`${found.state} is not damaged`);
  return found.repaired;
}

describe('a conversation of OpenCode', () => {
  it('is intact as the bridge wrote it', () => {
    const lastEntry = expect.stringMatching(/^msg_\w+$/);
    expect(check(bytes)).toEqual({ state: 'intact', path: '/p', entries: 6, lastEntry });
  });

  it('loses a truncated last line and keeps the rest', () => {
    const found = check(bytes.slice(0, -40));
    expect(found).toMatchObject({ state: 'damaged', lost: '1 line that cannot be read' });
    expect(check(repaired(found))).toMatchObject({ state: 'intact', entries: 5 });
  });

  it('finishes a last line that only lacks its newline', () => {
    const found = check(bytes.slice(0, -1));
    expect(found).toMatchObject({ lost: 'nothing; the last line was not finished' });
    expect(repaired(found)).toEqual(new Uint8Array(bytes));
  });

  it('loses one message to garbage in the middle', () => {
    const found = check(withDamage(bytes, (lines) => lines.with(2, 'gar\u0000bage')));
    expect(found).toMatchObject({ state: 'damaged', entries: 5 });
    expect(check(repaired(found))).toMatchObject({ state: 'intact' });
  });

  it('writes the line of the session again', () => {
    const found = check(withDamage(bytes, (lines) => lines.with(0, '{"info":{"id":"ses')));
    expect(found).toMatchObject({ state: 'damaged', entries: 6 });
    const [session] = text(repaired(found)).split('\n');
    expect(JSON.parse(session ?? '')).toMatchObject({ info: { id: ID, directory: where.cwd } });
    expect(check(repaired(found))).toMatchObject({ state: 'intact' });
  });

  it('is missing when empty, foreign, all garbage or without a message', () => {
    expect(check(new Uint8Array())).toMatchObject({ state: 'missing' });
    expect(check(new TextEncoder().encode('x\ny\n'))).toMatchObject({ state: 'missing' });
    const bare = withDamage(bytes, (lines) => [lines[0] ?? '', '']);
    expect(check(bare)).toMatchObject({ state: 'missing' });
    const other = checkOpencodeConversation(bytes, { ...where, conversationId: 'ses_other' });
    expect(other).toMatchObject({ state: 'missing' });
  });

  it('is looked for where the bridge writes it', async () => {
    const path = `/h/.local/share/hangar-opencode/${ID}.jsonl`;
    const files = {
      list: async () => [],
      read: async (each: string) => (each === path ? bytes : null),
      write: async () => undefined,
    };
    const place = { home: '/h', cwd: '/workspace/repo', conversationId: ID };
    expect(await checkOpencode(files, place)).toMatchObject({ state: 'intact', path });
    const other = { ...place, conversationId: 'ses_other' };
    expect(await checkOpencode(files, other)).toMatchObject({ state: 'missing' });
  });
});
