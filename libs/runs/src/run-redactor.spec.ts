import { describe, expect, it } from '@jest/globals';
import { createRunBench, print, sessionOf, DONE } from './testing/run-bench.ts';

const FIRST = 'tok-first-0123456789';
const SECOND = 'tok-second-9876543210';

describe('what a run tells [Z2]', () => {
  it('hides what its sandbox was given before, and what came by a rotation', async () => {
    const handed = [{ name: 'GIT_TOKEN', value: FIRST }];
    const bench = await createRunBench({
      handed: async () => handed.toReversed(),
      play: (run) => {
        print(run, { type: 'session', id: sessionOf(run) });
        run.onInput(({ key, chunk }) => {
          if (chunk === 'eof') return run.exit();
          if (key !== 'prompt') return;
          const { id } = JSON.parse(chunk.toString()) as { id: string };
          print(run, { type: 'accepted', id }, { type: 'said', text: `before: ${FIRST}` });
          // The broker notes the value, and hands it out when the run has read it.
          handed.push({ name: 'GIT_TOKEN', value: SECOND });
          void bench.handOut().then(() => {
            print(run, { type: 'said', text: `${FIRST} ${SECOND} ${btoa(`bot:${SECOND}`)}` }, DONE);
          });
        });
      },
    });
    await bench.start();
    await bench.execute();
    const { summary } = await bench.ended('RunFinished');
    expect(summary).toMatch(/^\[redacted GIT_TOKEN\] \[redacted GIT_TOKEN\] \S*\[redacted/);
    const told = JSON.stringify([
      await bench.events(),
      await bench.activity.read(bench.request.session_id, { turn: 0, part: 0, seq: 0 }, 100),
    ]);
    expect(told).toContain('before: [redacted GIT_TOKEN]');
    expect(told).not.toMatch(/tok-first|tok-second/);
  });
});
