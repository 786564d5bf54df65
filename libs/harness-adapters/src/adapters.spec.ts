import { describe, expect, it } from '@jest/globals';
import type { HarnessCommand, HarnessName } from './harness-adapter.ts';
import { HARNESS_NAMES, harnessAdapter, isHarnessName } from './registry.ts';
import { recordedTurn } from './testing/recorded-turn.ts';

const SECRETS = {
  ANTHROPIC_API_KEY: 'secret-a',
  ANTHROPIC_BASE_URL: 'http://broker/a',
  OPENAI_API_KEY: 'secret-o',
  OPENAI_BASE_URL: 'http://broker/o/v1',
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
    ['openrouter/vendor/model', 'openrouter', 'vendor/model'],
  ])('pi takes the provider for %s from its name and the keys', (model, provider, id) => {
    const { argv, files } = commandOf('pi', 1, model);
    expect(argv).toEqual(expect.arrayContaining(['--provider', provider, '--model', id]));
    const models = JSON.parse(
      files.find(({ path }) => path.endsWith('models.json'))?.content ?? '',
    );
    expect(models.providers.anthropic.baseUrl).toBe('http://broker/a');
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
