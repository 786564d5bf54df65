import { afterAll } from '@jest/globals';
import { startModelServer } from '../../../../tools/model-server/model-server.ts';
import { describeHarnessAdapter } from '../testing/harness-adapter.suite.ts';
import { realHarness } from '../testing/real-harness.ts';
import { codexAdapter } from './codex.adapter.ts';

const server = await startModelServer();
afterAll(() => server.close());

describeHarnessAdapter('codex', () =>
  realHarness(codexAdapter, server, {
    model: 'gpt-5.5',
    envVars: (url, key) => ({ OPENAI_API_KEY: key, OPENAI_BASE_URL: `${url}/v1` }),
    keyVariable: 'OPENAI_API_KEY',
    saysResetTime: true,
  }),
);
