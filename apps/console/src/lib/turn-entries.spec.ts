import { describe, expect, it } from '@jest/globals';
import type { ActivityItem } from '@hangar/contracts';
import { aboutOf, entriesOf, workText } from './turn-entries.ts';

const items = (...given: Partial<ActivityItem>[]): ActivityItem[] =>
  given.map((item, index) => ({
    type: 'message',
    ...item,
    cursor: `1.1.${index + 1}`,
    turn: 1,
    at: '2026-11-30T12:00:00.000Z',
  }));

describe('what an agent did, as rows', () => {
  it('has a call and its result as one, whatever came in between', () => {
    const entries = entriesOf(
      items(
        { type: 'tool_started', call_id: 'a', tool: 'shell', input: '{"command":"npm test"}' },
        { type: 'tool_started', call_id: 'b', tool: 'read', input: '{"file_path":"a.ts"}' },
        { type: 'message', text: 'meanwhile' },
        { type: 'tool_finished', call_id: 'a', output: 'red', is_error: true, exit_code: 2 },
      ),
      'msg-1',
    );
    expect(entries).toMatchObject([
      { kind: 'tool', about: 'npm test', state: 'failed', output: 'red', exitCode: 2 },
      { kind: 'tool', about: 'a.ts', state: 'running', output: null },
      { kind: 'message', text: 'meanwhile' },
    ]);
  });

  it('has files that changed one after the other as one, each once', () => {
    const change = { type: 'file_changed', change: 'modified' };
    const entries = entriesOf(
      items(
        { ...change, path: 'a' },
        { ...change, path: 'b' },
        { ...change, path: 'a' },
        { type: 'message', text: 'done' },
        { ...change, path: 'a' },
      ),
      'msg-1',
    );
    expect(entries.map(({ kind }) => kind)).toEqual(['files', 'message', 'files']);
    expect(entries[0]).toMatchObject({ files: [{ path: 'a' }, { path: 'b' }] });
    expect(workText(entries)).toBe('2 files changed');
  });

  it('has a message that steered where it reached the agent, not the one that began the turn', () => {
    const entries = entriesOf(
      items(
        { type: 'delivered', message_id: 'msg-1' },
        { type: 'message', text: 'one' },
        { type: 'delivered', message_id: 'msg-2' },
      ),
      'msg-1',
    );
    expect(entries).toMatchObject([{ kind: 'message' }, { kind: 'steered', messageId: 'msg-2' }]);
  });

  it.each([
    ['{"command":["git","status"]}', 'git status'],
    ['{"other":1}', '{"other":1}'],
    ['{"command":"a\\n  b"}', 'a b'],
    ['{"command":"cut [cut, 12 characters more]', '{"command":"cut [cut, 12 characters more]'],
    ['', ''],
  ])('says what a call is about: %s', (input, about) => {
    expect(aboutOf(input)).toBe(about);
  });
});
