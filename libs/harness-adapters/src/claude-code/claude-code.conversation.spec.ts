import { describe, expect, it } from '@jest/globals';
import type { ConversationCheck } from '../harness-adapter.ts';
import { recordedBytes, withDamage } from '../testing/recorded-turn.ts';
import { checkClaude, checkClaudeConversation, claudeSlug } from './claude-code.conversation.ts';

const bytes = recordedBytes(import.meta.dirname, 'conversation');
const check = (damaged: Uint8Array): ConversationCheck =>
  checkClaudeConversation(damaged, { path: '/p' });
const text = (found: ConversationCheck): string => {
  if (found.state !== 'damaged') throw new Error(`${found.state} is not damaged`);
  return new TextDecoder().decode(found.repaired);
};
const lineWith = (lines: string[], ...needles: string[]): number =>
  lines.findIndex((line) => needles.every((needle) => line.includes(needle)));

describe('a Claude Code conversation', () => {
  it('is intact as Claude Code wrote it', () => {
    const found = check(bytes);
    expect(found).toMatchObject({
      state: 'intact',
      lastEntry: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  it('drops a partial last line, and a NUL tail', () => {
    const partial = check(bytes.slice(0, -30));
    expect(partial).toMatchObject({ state: 'damaged', lost: '1 line that cannot be read' });
    expect(check(new TextEncoder().encode(text(partial)))).toMatchObject({ state: 'intact' });
    const tail = check(new Uint8Array([...bytes, 0, 0, 0, 0]));
    expect(tail).toMatchObject({ state: 'damaged', lost: '1 line that cannot be read' });
    expect(text(tail)).toBe(new TextDecoder().decode(bytes));
  });

  it('ties the chain again behind a corrupt line, so that nothing above it vanishes', () => {
    const broken = withDamage(bytes, (lines) =>
      lines.with(lineWith(lines, '"type":"assistant"', '"all done"'), '{"parentUuid":'),
    );
    const found = check(broken);
    expect(found).toMatchObject({ state: 'damaged', lost: '1 line that cannot be read' });
    const entries = text(found)
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    const linked = entries.filter((entry) => entry.uuid !== undefined);
    const parents = new Map(linked.map((entry) => [entry.uuid, entry.parentUuid]));
    let length = 0;
    for (let leaf = linked.at(-1)?.uuid; leaf; leaf = parents.get(leaf)) length += 1;
    // From the newest entry to the first message, with only the corrupt one missing.
    expect(length).toBe(linked.length);
  });

  it('drops a tool result whose call was on the corrupt line', () => {
    const broken = withDamage(bytes, (lines) =>
      lines.with(lineWith(lines, '"type":"assistant"', '"tool_use"', 'echo hi'), '\u0000'),
    );
    const found = check(broken);
    const lost = '1 line that cannot be read and 1 tool result without its call';
    expect(found).toMatchObject({ state: 'damaged', lost });
    expect(check(new TextEncoder().encode(text(found)))).toMatchObject({ state: 'intact' });
  });

  it('is missing when empty or without a message', () => {
    expect(check(new Uint8Array())).toMatchObject({ state: 'missing' });
    expect(check(new TextEncoder().encode('{"type":"mode"}\n'))).toMatchObject({
      state: 'missing',
    });
  });

  it('is looked for under the directory name that Claude Code makes', async () => {
    expect(claudeSlug('/workspace/a.b_c é日😀')).toBe('-workspace-a-b-c-----');
    const long = `/${'a'.repeat(250)}`;
    expect(claudeSlug(long)).toMatch(/^-a{199}-[0-9a-z]+$/);
    const asked: string[] = [];
    const files = {
      list: async () => [],
      read: async (path: string) => {
        asked.push(path);
        return null;
      },
      write: async () => undefined,
    };
    const place = { home: '/h', cwd: '/workspace/repo', conversationId: 'id' };
    expect(await checkClaude(files, place)).toMatchObject({ state: 'missing' });
    expect(asked).toEqual(['/h/.claude/projects/-workspace-repo/id.jsonl']);
  });
});
