import { afterAll } from '@jest/globals';
import { startModelServer } from '../../../../tools/model-server/model-server.ts';
import { describeHarnessAdapter } from '../testing/harness-adapter.suite.ts';
import { realHarness } from '../testing/real-harness.ts';
import { opencodeAdapter } from './opencode.adapter.ts';

const server = await startModelServer();
afterAll(() => server.close());

describeHarnessAdapter('opencode', () =>
  realHarness(opencodeAdapter, server, {
    model: 'claude-sonnet-4-5',
    envVars: (url, key) => ({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url }),
    saysResetTime: false,
  }),
);
