import { describe, expect, it } from '@jest/globals';
import type { ConversationCheck } from '../harness-adapter.ts';
import { recordedBytes, withDamage } from '../testing/recorded-turn.ts';
import { checkGemini, checkGeminiConversation } from './gemini.conversation.ts';

const ID = '0e0c1d2e-3f40-4a5b-8c6d-7e8f90a1b2c3';
const where = { path: '/p', cwd: '/workspace/repo', conversationId: ID };
const bytes = recordedBytes(import.meta.dirname, 'conversation');
const check = (damaged: Uint8Array): ConversationCheck => checkGeminiConversation(damaged, where);
const damagedBy = (change: (lines: string[]) => string[]): ConversationCheck =>
  check(withDamage(bytes, change));
const EMPTYING = JSON.stringify({
  $set: { messages: [{ id: 'c', type: 'user', content: [{ text: '<session_context>x' }] }] },
});

function repaired(found: ConversationCheck): Uint8Array {
  if (found.state !== 'damaged') throw new Error(`${found.state} is not damaged`);
  return found.repaired;
}

describe('a conversation of Gemini CLI', () => {
  it('is intact as Gemini CLI wrote it', () => {
    const lastEntry = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(check(bytes)).toEqual({ state: 'intact', path: '/p', entries: 22, lastEntry });
  });

  it('loses a truncated last line and keeps the rest', () => {
    const found = check(bytes.slice(0, -10));
    expect(found).toMatchObject({ state: 'damaged', lost: '1 line that cannot be read' });
    expect(check(repaired(found))).toMatchObject({ state: 'intact', entries: 21 });
  });

  it('finishes a last line that only lacks its newline', () => {
    const found = check(bytes.slice(0, -1));
    expect(found).toMatchObject({ lost: 'nothing; the last line was not finished' });
    expect(repaired(found)).toEqual(new Uint8Array(bytes));
  });

  it('drops the result of a call that is gone, which a provider would refuse', () => {
    const found = damagedBy((lines) =>
      // As after a first turn: a resume writes every message again.
      lines
        .filter((line) => !line.includes('"$set":{"messages"'))
        .map((line) => (line.includes('"toolCalls"') && line.includes('echo hi') ? '{' : line)),
    );
    const lost = '1 line that cannot be read and 1 tool result without its call';
    expect(found).toMatchObject({ state: 'damaged', lost });
    expect(check(repaired(found))).toMatchObject({ state: 'intact' });
  });

  it('writes a truncated first line again', () => {
    const found = damagedBy((lines) => lines.with(0, (lines[0] ?? '').slice(0, 20)));
    expect(found).toMatchObject({ state: 'damaged', lost: expect.stringContaining('first line') });
    const header = JSON.parse(new TextDecoder().decode(repaired(found)).split('\n')[0] ?? '');
    const written = JSON.parse(new TextDecoder().decode(bytes).split('\n')[0] ?? '');
    expect(header).toMatchObject({ sessionId: ID, projectHash: written.projectHash });
    expect(check(repaired(found))).toMatchObject({ state: 'intact' });
  });

  it('brings back what a resume that failed has emptied', () => {
    const found = damagedBy((lines) => [...lines.slice(0, -1), EMPTYING, '']);
    expect(found).toMatchObject({ state: 'damaged', lost: expect.stringContaining('emptied') });
    expect(repaired(found)).toEqual(new Uint8Array(bytes));
  });

  it('is missing when empty, foreign, all garbage, or only a context', () => {
    expect(check(new Uint8Array())).toMatchObject({ state: 'missing' });
    expect(check(new TextEncoder().encode('x\ny\n'))).toMatchObject({ state: 'missing' });
    expect(damagedBy((lines) => lines.slice(0, 2))).toMatchObject({ state: 'missing' });
    const other = checkGeminiConversation(bytes, { ...where, conversationId: 'other' });
    expect(other).toMatchObject({ state: 'missing' });
  });

  it('is looked for where Gemini CLI looks, and not in what a resume leaves beside it', async () => {
    const root = '/h/.gemini/tmp/repo-1';
    const path = `${root}/chats/session-2026-11-30T10-00-0e0c1d2e.jsonl`;
    const contents = new Map<string, Uint8Array>([
      ['/h/.gemini/tmp/repo/.project_root', new TextEncoder().encode('/other/repo')],
      ['/h/.gemini/tmp/repo/chats/session-2026-11-30T09-00-0e0c1d2e.jsonl', bytes],
      [`${root}/.project_root`, new TextEncoder().encode('/workspace/repo')],
      [`${root}/chats/session-2026-11-30T09-59-0e0c1d2e.jsonl`, new TextEncoder().encode('{}\n')],
      [path, bytes],
    ]);
    const files = {
      list: async () => [...contents.keys()],
      read: async (each: string) => contents.get(each) ?? null,
      write: async () => undefined,
    };
    const place = { home: '/h', cwd: '/workspace/repo', conversationId: ID };
    expect(await checkGemini(files, place)).toMatchObject({ state: 'intact', path });
    const elsewhere = { ...place, cwd: '/nowhere' };
    expect(await checkGemini(files, elsewhere)).toMatchObject({ state: 'missing' });
  });
});
