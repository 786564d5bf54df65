import { afterAll } from '@jest/globals';
import { startModelServer } from '../../../../tools/model-server/model-server.ts';
import { describeHarnessAdapter } from '../testing/harness-adapter.suite.ts';
import { realHarness } from '../testing/real-harness.ts';
import { piAdapter } from './pi.adapter.ts';

const server = await startModelServer();
afterAll(() => server.close());

describeHarnessAdapter('pi', () =>
  realHarness(piAdapter, server, {
    model: 'claude-sonnet-4-5',
    envVars: (url, key) => ({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url }),
    keyVariable: 'ANTHROPIC_API_KEY',
    saysResetTime: false,
  }),
);
