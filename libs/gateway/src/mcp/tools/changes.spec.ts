import { describe, expect, it } from '@jest/globals';
import type { Changes } from '@hangar/contracts';
import type { ToolAnswer, ToolCall } from '../tool.ts';
import { changes } from './changes.ts';

const file = (path: string, diff: string | null): Changes['files'][number] => ({
  path,
  status: 'modified',
  area: 'unstaged',
  binary: diff === null,
  diff,
});

function read(files: Changes['files'], path?: string): Promise<ToolAnswer> {
  const found: Changes = { source: 'sandbox', taken_at: '2030-01-01T00:00:00Z', base: null, files };
  const sandboxCalls = { changes: () => Promise.resolve(found) };
  return changes.run({ session: 's', path }, { sandboxCalls } as unknown as ToolCall);
}

describe('changes', () => {
  it('are a list and their diffs', async () => {
    const { text } = await read([file('a.txt', '+one'), file('b.png', null)]);
    expect(text).toBe(
      'Read from the sandbox, 2030-01-01T00:00:00Z:\nmodified a.txt (unstaged)\n' +
        'modified b.png (unstaged, binary)\n--- a.txt\n+one',
    );
    expect((await read([])).text).toContain('No changes');
  });

  it('can be those of a file or a folder', async () => {
    const files = ['src/a.ts', 'src.ts', 'src/b/c.ts'].map((path) => file(path, '+'));
    const paths = async (path: string) => {
      const { structured } = await read(files, path);
      return (structured as Changes).files.map((each) => each.path);
    };
    expect(await paths('src')).toEqual(['src/a.ts', 'src/b/c.ts']);
    expect(await paths('src/')).toEqual(['src/a.ts', 'src/b/c.ts']);
    expect(await paths('src.ts')).toEqual(['src.ts']);
  });

  it('are bounded, and say what was left out', async () => {
    const large = Array.from({ length: 500 }, (_, n) => file(`f${n}`, '+'.repeat(5000)));
    const { text, structured } = await read(large);
    expect(structured).toMatchObject({ files_left_out: 300, diffs_left_out: 196 });
    expect(text).toContain('196 diffs are left out: call changes with `path`.');
    expect(text.length + JSON.stringify(structured).length).toBeLessThan(100_000);
    const one = await read([file('big', '+'.repeat(1_000_000))]);
    expect(one.text).toContain('[cut, 992000 characters more]');
  });
});
