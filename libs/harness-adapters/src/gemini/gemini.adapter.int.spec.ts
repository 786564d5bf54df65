import { afterAll } from '@jest/globals';
import { startModelServer } from '../../../../tools/model-server/model-server.ts';
import { describeHarnessAdapter } from '../testing/harness-adapter.suite.ts';
import { realHarness } from '../testing/real-harness.ts';
import { geminiAdapter } from './gemini.adapter.ts';

const server = await startModelServer();
afterAll(() => server.close());

describeHarnessAdapter('gemini', () =>
  realHarness(geminiAdapter, server, {
    model: 'gemini-2.5-pro',
    envVars: (url, key) => ({ GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: url }),
    saysResetTime: false,
  }),
);
