import { describe, expect, it } from '@jest/globals';
import type { HarnessCommand, HarnessName } from './harness-adapter.ts';
import { HARNESS_NAMES, harnessAdapter, isHarnessName } from './registry.ts';
import { recordedTurn } from './testing/recorded-turn.ts';

const SECRETS = {
  ANTHROPIC_API_KEY: 'secret-a',
  ANTHROPIC_BASE_URL: 'http://broker/a',
  OPENAI_API_KEY: 'secret-o',
  OPENAI_BASE_URL: 'http://broker/o/v1',
  GEMINI_API_KEY: 'secret-g',
  GOOGLE_GEMINI_BASE_URL: 'http://broker/g',
};
const PROMPT = 'the prompt itself';

function commandOf(
  name: HarnessName,
  number: number,
  model: string | null = 'a-model',
): HarnessCommand {
  const turn = recordedTurn(number, { prompt: PROMPT, envVars: SECRETS, model });
  return harnessAdapter(name).command(turn);
}

describe('harness adapters', () => {
  it('are found by their names', () => {
    expect(HARNESS_NAMES.map((name) => harnessAdapter(name).name)).toEqual(HARNESS_NAMES);
    expect([isHarnessName('pi'), isHarnessName('constructor')]).toEqual([true, false]);
  });

  it.each(HARNESS_NAMES)('%s: no key and no prompt in a file or an argument', (name) => {
    const { argv, files, envVars } = commandOf(name, 1);
    const written = JSON.stringify([argv, files]);
    expect(written).not.toMatch(/secret-|the prompt itself/);
    expect(envVars).toMatchObject(SECRETS);
    expect(files.every(({ path }) => !path.startsWith('/') && !path.includes('..'))).toBe(true);
  });

  it.each(['claude-code', 'codex', 'pi'] as const)(
    '%s: a key that it can ask for is in no variable, and its command has no key [R5]',
    (name) => {
      const keyCommands = { ANTHROPIC_API_KEY: 'print a', OPENAI_API_KEY: 'print o' };
      const turn = recordedTurn(1, { prompt: PROMPT, envVars: SECRETS, keyCommands });
      const { argv, envVars, files } = harnessAdapter(name).command(turn);
      const own = name === 'codex' ? 'OPENAI_API_KEY' : 'ANTHROPIC_API_KEY';
      expect(envVars).not.toHaveProperty(own);
      const written = JSON.stringify([argv, files]);
      expect(written).toContain(keyCommands[own]);
      expect(written).not.toContain('secret-');
    },
  );

  it.each(HARNESS_NAMES)(
    '%s: talks exactly where it says so, and never with a key in a file',
    (name) => {
      const adapter = harnessAdapter(name);
      expect(adapter.talk !== undefined).toBe(adapter.capabilities.talk);
      if (!adapter.talk) return;
      const keyCommands = { ANTHROPIC_API_KEY: 'print a', OPENAI_API_KEY: 'print o' };
      for (const asked of [{}, keyCommands])
        for (const asksLeave of [false, true]) {
          const turn = recordedTurn(1, { envVars: SECRETS, keyCommands: asked, asksLeave });
          const { argv, files, settings } = adapter.talk({ ...turn, conversationId: 'id-1' });
          expect(JSON.stringify([argv, files, settings])).not.toContain('secret-');
          expect(argv.join(' ')).toContain('id-1');
          const leaves = /skip-permissions|bypass-approvals|--yolo/.test(argv.join(' '));
          expect(leaves && asksLeave).toBe(false);
          const paths = [...files, ...settings].map(({ path }) => path);
          expect(paths.every((path) => !path.startsWith('/') && !path.includes('..'))).toBe(true);
        }
    },
  );

  it('Claude Code keeps the token of a subscription in its environment: there is no other way', () => {
    const envVars = { ...SECRETS, CLAUDE_CODE_OAUTH_TOKEN: 'secret-t' };
    const keyCommands = { ANTHROPIC_API_KEY: 'print a' };
    const turn = recordedTurn(1, { prompt: PROMPT, envVars, keyCommands });
    const command = harnessAdapter('claude-code').command(turn);
    expect(command.argv).not.toContain('--settings');
    expect(command.envVars).toMatchObject(envVars);
  });

  it.each(HARNESS_NAMES)('%s: no credential below the directories of the conversation', (name) => {
    const adapter = harnessAdapter(name);
    const kept = adapter.conversationDirectories;
    const files = adapter.command(recordedTurn(1)).files.map(({ path }) => path);
    expect(kept).not.toHaveLength(0);
    expect(files.filter((path) => kept.some((each) => path.startsWith(`${each}/`)))).toEqual([]);
  });

  it('Claude Code starts with its own id and resumes by it, always with the model', () => {
    const id = '0e0c1d2e-3f40-4a5b-8c6d-7e8f90a1b2c3';
    expect(commandOf('claude-code', 1).argv).toEqual(expect.arrayContaining(['--session-id', id]));
    const argv = commandOf('claude-code', 2).argv;
    expect(argv).toEqual(expect.arrayContaining(['--resume', id, '--model', 'a-model']));
    expect(commandOf('claude-code', 2, null).argv).not.toContain('--model');
  });

  it('pi never starts over when it should resume', () => {
    expect(commandOf('pi', 1).argv).toContain('--session-id');
    expect(commandOf('pi', 2).argv).toContain('--session');
    expect(commandOf('pi', 2).argv).not.toContain('--session-id');
  });

  it.each([
    ['a-model', 'anthropic', 'a-model'],
    ['gpt-5.5', 'openai', 'gpt-5.5'],
    ['gemini-2.5-pro', 'google', 'gemini-2.5-pro'],
    ['openrouter/vendor/model', 'openrouter', 'vendor/model'],
  ])('pi takes the provider for %s from its name and the keys', (model, provider, id) => {
    const { argv, files } = commandOf('pi', 1, model);
    expect(argv).toEqual(expect.arrayContaining(['--provider', provider, '--model', id]));
    const models = JSON.parse(
      files.find(({ path }) => path.endsWith('models.json'))?.content ?? '',
    );
    expect(models.providers.anthropic.baseUrl).toBe('http://broker/a');
  });

  it('Gemini CLI resumes only when it should, in one process, and keeps its conversations', () => {
    expect(commandOf('gemini', 1).argv).toContain('--session-id');
    expect(commandOf('gemini', 2).argv).toContain('--resume');
    const { envVars, files } = commandOf('gemini', 2);
    expect(envVars).toMatchObject({ GEMINI_CLI_NO_RELAUNCH: 'true' });
    const settings = JSON.parse(files[0]?.content ?? '');
    expect(settings.general).toMatchObject({
      maxAttempts: 5,
      sessionRetention: { enabled: false },
    });
    const most = harnessAdapter('gemini').command(
      recordedTurn(1, { envVars: { HANGAR_MODEL_RETRIES: '99' } }),
    );
    expect(JSON.parse(most.files[0]?.content ?? '').general.maxAttempts).toBe(10);
  });

  it.each([
    ['a-model', 'anthropic', 'http://broker/a/v1'],
    ['gpt-5.5', 'openai', 'http://broker/o/v1'],
    ['gemini-2.5-pro', 'google', 'http://broker/g/v1beta'],
  ])('OpenCode reaches the provider of %s at its endpoint', (model, provider, baseURL) => {
    const { envVars } = commandOf('opencode', 1, model);
    const configuration = JSON.parse(envVars['OPENCODE_CONFIG_CONTENT'] ?? '');
    expect(configuration).toMatchObject({
      model: `${provider}/${model}`,
      enabled_providers: [provider],
      provider: { [provider]: { options: { baseURL }, models: { [model]: {} } } },
    });
    expect(envVars['OPENCODE_CONFIG_CONTENT']).not.toContain('secret-');
  });

  it('OpenCode is asked for leave only when the turn asks leave, and a question never is', () => {
    const permission = (asksLeave: boolean): unknown => {
      const turn = recordedTurn(2, { asksLeave });
      return JSON.parse(
        harnessAdapter('opencode').command(turn).envVars['OPENCODE_PERMISSION'] ?? '',
      );
    };
    expect([permission(false), permission(true)]).toEqual([
      { '*': 'allow' },
      { '*': 'ask', question: 'allow' },
    ]);
    expect(commandOf('opencode', 1).argv.at(-1)).toBe('');
    expect(commandOf('opencode', 2).argv.at(-1)).toBe('0e0c1d2e-3f40-4a5b-8c6d-7e8f90a1b2c3');
  });

  it('Codex reads its key from the environment and bounds its retries', () => {
    const configuration = commandOf('codex', 1).files[0]?.content ?? '';
    expect(configuration).toContain('env_key = "OPENAI_API_KEY"');
    expect(configuration).toContain('base_url = "http://broker/o/v1"');
    expect(configuration).toContain('stream_max_retries = 4');
    const envVars = { HANGAR_MODEL_RETRIES: '99' };
    const bounded = harnessAdapter('codex').command(recordedTurn(1, { envVars }));
    expect(bounded.files[0]?.content).toContain('stream_max_retries = 10');
  });
});
