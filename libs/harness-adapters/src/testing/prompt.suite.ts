/** What a person may write reaches the model as it was written; more of it opens other tests. */
import { expect, it } from '@jest/globals';
import { OPENINGS, expectSent, firstSaid, type HarnessBench } from './harness-bench.ts';

const LONG = 'lorem ipsum '.repeat(17_000);
const PROMPTS: [string, string][] = [
  ['a shell escape', `${OPENINGS.shell} [[ echo ]]`],
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
      expect(turn.result.summary).toContain(isLong ? 'heard the end' : firstSaid(wrote));
      expectSent(setting, wrote);
    },
    90_000,
  );

  it('ends an empty prompt one way or the other', async () => {
    const { spec, run } = bench();
    const turn = await run(spec({ prompt: '' }));
    expect(['succeeded', 'failed']).toContain(turn.result.outcome);
  }, 90_000);
}
