import { afterAll } from '@jest/globals';
import { startModelServer } from '../../../../tools/model-server/model-server.ts';
import { describeHarnessAdapter } from '../testing/harness-adapter.suite.ts';
import { realHarness } from '../testing/real-harness.ts';
import { claudeCodeAdapter } from './claude-code.adapter.ts';

const server = await startModelServer();
afterAll(() => server.close());

describeHarnessAdapter('claude-code', () =>
  realHarness(claudeCodeAdapter, server, {
    model: 'claude-sonnet-4-5',
    envVars: (url, key) => ({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url }),
    // A subscription says when its limit ends, a plain key does not.
    limitEnvVars: (url, key) => ({ CLAUDE_CODE_OAUTH_TOKEN: key, ANTHROPIC_BASE_URL: url }),
    keyVariable: 'ANTHROPIC_API_KEY',
    saysResetTime: true,
  }),
);
