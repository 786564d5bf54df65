import { afterAll, expect, it } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startModelServer } from '../../../../tools/model-server/model-server.ts';
import { describeHarnessAdapter } from '../testing/harness-adapter.suite.ts';
import { KEY, type HarnessSetting } from '../testing/harness-bench.ts';
import { HarnessHome } from '../testing/harness-home.ts';
import { HarnessProcess } from '../testing/harness-process.ts';
import { realHarness } from '../testing/real-harness.ts';
import { opencodeAdapter } from './opencode.adapter.ts';

const TURN_MILLISECONDS_MAX = 90_000;

const server = await startModelServer();
afterAll(() => server.close());

const setting = (): Promise<HarnessSetting> =>
  realHarness(opencodeAdapter, server, {
    model: 'claude-sonnet-4-5',
    envVars: (url, key) => ({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url }),
    saysResetTime: false,
    keyVariable: 'ANTHROPIC_API_KEY',
  });

describeHarnessAdapter('opencode', setting, { model: true, keys: 'once' });

it(
  'fetches nothing from npm',
  async () => {
    const { harnessRoot, homesDirectory, model, envVars } = await setting();
    const home = await HarnessHome.create(homesDirectory);
    try {
      const own = { model, harnessRoot, envVars: envVars(server.url, KEY) };
      const turn = home.turn({ prompt: 'x [[ run: echo hi ;; say: ok ]]', ...own });
      const { result } = await (await HarnessProcess.start(opencodeAdapter, turn)).finished;
      expect(result).toMatchObject({ outcome: 'succeeded', summary: 'ok' });
      expect(await readdir(home.home)).not.toContain('.npm');
      const packages = join(home.home, '.config/opencode/node_modules');
      expect(await readdir(packages)).toEqual([]);
    } finally {
      await home.remove();
    }
  },
  TURN_MILLISECONDS_MAX,
);
