import { afterAll, expect, it } from '@jest/globals';
import { startModelServer } from '../../../../tools/model-server/model-server.ts';
import { describeHarnessAdapter } from '../testing/harness-adapter.suite.ts';
import { CONVERSATION, KEY, type HarnessSetting } from '../testing/harness-bench.ts';
import { HarnessHome } from '../testing/harness-home.ts';
import { HarnessProcess } from '../testing/harness-process.ts';
import { realHarness } from '../testing/real-harness.ts';
import { geminiAdapter } from './gemini.adapter.ts';

const TURNS_MILLISECONDS_MAX = 180_000;

const server = await startModelServer();
afterAll(() => server.close());

const setting = (): Promise<HarnessSetting> =>
  realHarness(geminiAdapter, server, {
    model: 'gemini-2.5-pro',
    envVars: (url, key) => ({ GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: url }),
    saysResetTime: false,
    keyVariable: 'GEMINI_API_KEY',
  });

describeHarnessAdapter('gemini', setting, { model: true, keys: 'once' });

it(
  'sends everything once, however often it is resumed: commands as text, results of tools',
  async () => {
    const { harnessRoot, homesDirectory, model, envVars } = await setting();
    const home = await HarnessHome.create(homesDirectory);
    const prompts = [
      '/first words [[ run: echo a ++ run: echo b ;; say: ok ]]',
      'second words [[ run: echo c ;; say: ok ]]',
      'third words [[ say: ok ]]',
      'last words [[ say: ok ]]',
    ];
    try {
      for (const [index, prompt] of prompts.entries()) {
        const turn = home.turn({
          prompt,
          model,
          harnessRoot,
          resume: index > 0,
          conversationId: CONVERSATION,
          envVars: envVars(server.url, KEY),
        });
        const { result } = await (await HarnessProcess.start(geminiAdapter, turn)).finished;
        expect(result).toMatchObject({ outcome: 'succeeded', summary: 'ok' });
      }
    } finally {
      await home.remove();
    }
    const request = server.requests().at(-1);
    expect(request?.userTexts).toEqual(prompts);
    expect(request?.roles.join(' ')).toBe(
      'user assistant tool tool assistant user assistant tool assistant user assistant user',
    );
  },
  TURNS_MILLISECONDS_MAX,
);
