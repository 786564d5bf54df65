import { describe, expect, it } from '@jest/globals';
import type { ConversationCheck } from '../harness-adapter.ts';
import { recordedBytes, withDamage } from '../testing/recorded-turn.ts';
import { checkPi, checkPiConversation, piDirectory } from './pi.conversation.ts';

const ID = '0e0c1d2e-3f40-4a5b-8c6d-7e8f90a1b2c3';
const where = { path: '/p', cwd: '/workspace/repo', conversationId: ID };
const bytes = recordedBytes(import.meta.dirname, 'conversation');
const check = (damaged: Uint8Array): ConversationCheck => checkPiConversation(damaged, where);
const cut = (line: string | undefined): string => (line ?? '').slice(0, 20);

function repaired(found: ConversationCheck): Uint8Array {
  if (found.state !== 'damaged') throw new Error(`${found.state} is not damaged`);
  return found.repaired;
}

describe('a pi conversation', () => {
  it('is intact as pi wrote it', () => {
    expect(check(bytes)).toEqual({
      state: 'intact',
      path: '/p',
      entries: expect.any(Number),
      lastEntry: expect.stringMatching(/^[0-9a-f]{8}$/),
    });
  });

  it('loses a truncated last line and keeps the rest', () => {
    const found = check(bytes.slice(0, -40));
    expect(found).toMatchObject({ state: 'damaged', lost: '1 line that cannot be read' });
    expect(check(repaired(found))).toMatchObject({ state: 'intact' });
  });

  it('finishes a last line that only lacks its newline', () => {
    const found = check(withDamage(bytes, (lines) => lines.filter((line) => line !== '')));
    expect(found).toMatchObject({ lost: 'nothing; the last line was not finished' });
    expect(repaired(found)).toEqual(new Uint8Array(bytes));
  });

  it('ties the branch again behind garbage in the middle', () => {
    const found = check(withDamage(bytes, (lines) => lines.with(4, 'gar\u0000bage')));
    expect(found).toMatchObject({ state: 'damaged', lost: '1 line that cannot be read' });
    const text = new TextDecoder().decode(repaired(found));
    const ids = text
      .split('\n')
      .filter(Boolean)
      .slice(1)
      .map((line) => JSON.parse(line));
    expect(ids[0].parentId).toBeNull();
    ids.slice(1).forEach((entry, index) => expect(entry.parentId).toBe(ids[index].id));
  });

  it('drops the result of a call that is gone, which a provider would refuse', () => {
    const call = (lines: string[]): number =>
      lines.findIndex((line) => line.includes('"toolCall"') && line.includes('"bash"'));
    const found = check(withDamage(bytes, (lines) => lines.with(call(lines), '{')));
    const lost = '1 line that cannot be read and 1 tool result without its call';
    expect(found).toMatchObject({ state: 'damaged', lost });
    expect(check(repaired(found))).toMatchObject({ state: 'intact' });
  });

  it('writes a truncated first line again', () => {
    const found = check(withDamage(bytes, (lines) => lines.with(0, cut(lines[0]))));
    expect(found).toMatchObject({ state: 'damaged', lost: expect.stringContaining('first line') });
    expect(check(repaired(found))).toMatchObject({ state: 'intact' });
  });

  it('moves one that was recorded in another directory', () => {
    const found = checkPiConversation(bytes, { ...where, cwd: '/elsewhere' });
    expect(new TextDecoder().decode(repaired(found))).toContain('"cwd":"/elsewhere"');
  });

  it('is missing when empty, foreign or all garbage', () => {
    expect(check(new Uint8Array())).toMatchObject({ state: 'missing' });
    expect(check(new TextEncoder().encode('x\ny\n'))).toMatchObject({ state: 'missing' });
    const other = checkPiConversation(bytes, { ...where, conversationId: 'other' });
    expect(other).toMatchObject({ state: 'missing' });
  });

  it('is looked for where pi looks', async () => {
    const directory = '/home/agent/.pi/agent/sessions/--workspace-a.b_c-d--';
    expect(piDirectory('/home/agent', '/workspace/a.b_c/d')).toBe(directory);
    const place = { home: '/h', cwd: '/workspace/repo', conversationId: ID };
    const path = `${piDirectory('/h', '/workspace/repo')}/2026_${ID}.jsonl`;
    const files = {
      list: async () => [path],
      read: async () => bytes,
      write: async () => undefined,
    };
    expect(await checkPi(files, place)).toMatchObject({ state: 'intact', path });
    const empty = { ...files, list: async () => [] };
    expect(await checkPi(empty, place)).toMatchObject({ state: 'missing' });
  });
});
