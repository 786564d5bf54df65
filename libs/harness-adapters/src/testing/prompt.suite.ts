/** What a person may write reaches the model as it was written. */
import { expect, it } from '@jest/globals';
import { sentText, type HarnessBench } from './harness-bench.ts';

const LONG = 'lorem ipsum '.repeat(17_000);
const PROMPTS: [string, string][] = [
  ['a command of the program', '/clear [[ echo ]]'],
  ['a command nobody knows', '/nosuch thing [[ echo ]]'],
  ['a path', '/etc/hosts is a file [[ echo ]]'],
  ['an option', '--help -x [[ echo ]]'],
  ['a file reference', '@README.md says [[ echo ]]'],
  ['a shell escape', '!ls [[ echo ]]'],
  ['several lines, quotes and emoji', 'a "b" \'c\' \\ $HOME `d`\n\té 日本 😀 [[ echo ]]'],
  ['200 KB', `start ${LONG} [[ say: heard the end ]]`],
];

export function describePrompts(bench: () => HarnessBench): void {
  it.each(PROMPTS)(
    'delivers %s as text',
    async (_what, prompt) => {
      const { setting, spec, run } = bench();
      const turn = await run(spec({ prompt }));
      expect(turn.result.error).toBeUndefined();
      expect(turn.result.outcome).toBe('succeeded');
      const wrote = prompt.trim();
      const isLong = wrote.length > 1_000;
      const said = isLong ? 'heard the end' : `The first said "${wrote.slice(0, 40)}`;
      expect(turn.result.summary).toContain(said);
      expect(sentText(setting, wrote).slice(0, 60)).toBe(wrote.slice(0, 60));
    },
    90_000,
  );

  it('ends an empty prompt one way or the other', async () => {
    const { spec, run } = bench();
    const turn = await run(spec({ prompt: '' }));
    expect(['succeeded', 'failed']).toContain(turn.result.outcome);
  }, 90_000);
}
