import { describe, expect, it } from '@jest/globals';
import type { ConversationCheck } from '../harness-adapter.ts';
import { recordedBytes, recordedLines, withDamage } from '../testing/recorded-turn.ts';
import { checkCodex, checkCodexConversation } from './codex.conversation.ts';

const bytes = recordedBytes(import.meta.dirname, 'conversation');
const ID: string = JSON.parse(recordedLines(import.meta.dirname, 'conversation')[0] ?? '').payload
  .id;
const check = (damaged: Uint8Array): ConversationCheck =>
  checkCodexConversation(damaged, { path: '/p', conversationId: ID });

describe('a Codex conversation', () => {
  it('is intact as Codex wrote it', () => {
    expect(check(bytes)).toMatchObject({
      state: 'intact',
      entries: recordedLines(import.meta.dirname, 'conversation').length,
      lastEntry: expect.stringMatching(/^msg_/),
    });
  });

  it.each([
    ['a truncated last line', (lines: string[]) => [...lines.slice(0, -2), '{"timest']],
    ['garbage in the middle', (lines: string[]) => lines.with(9, '\u0000\u0000')],
  ])('loses that line only: %s', (_what, change) => {
    const found = check(withDamage(bytes, change));
    expect(found).toMatchObject({ state: 'damaged', lost: '1 line that cannot be read' });
    if (found.state !== 'damaged') throw new Error(found.state);
    expect(check(found.repaired)).toMatchObject({ state: 'intact', entries: found.entries });
  });

  it.each([
    ['its first line is cut', (lines: string[]) => lines.with(0, '{"type":"session_m')],
    ['it is empty', () => ['']],
    [
      'it belongs to another',
      (lines: string[]) => lines.with(0, lines[0]?.replaceAll(ID, 'x') ?? ''),
    ],
  ])('is missing when %s', (_what, change) => {
    expect(check(withDamage(bytes, change))).toMatchObject({ state: 'missing' });
  });

  it('is found by the id in its name; a fork also needs its parent', async () => {
    const path = `/h/.codex/sessions/2026/11/30/rollout-x-${ID}.jsonl`;
    const place = { home: '/h', cwd: '/w', conversationId: ID };
    const files = (content: Uint8Array, paths: string[]) => ({
      list: async () => paths,
      read: async () => content,
      write: async () => undefined,
    });
    expect(await checkCodex(files(bytes, [path]), place)).toMatchObject({ state: 'intact', path });
    expect(await checkCodex(files(bytes, []), place)).toMatchObject({ state: 'missing' });
    const fork = withDamage(bytes, (lines) => {
      const first = JSON.parse(lines[0] ?? '');
      first.payload.history_base = { thread_id: 'parent' };
      return lines.with(0, JSON.stringify(first));
    });
    const alone = await checkCodex(files(fork, [path]), place);
    expect(alone).toMatchObject({ state: 'missing', reason: expect.stringContaining('parent') });
    const both = [path, '/h/.codex/sessions/2026/11/29/rollout-y-parent.jsonl'];
    expect(await checkCodex(files(fork, both), place)).toMatchObject({ state: 'intact' });
  });
});
