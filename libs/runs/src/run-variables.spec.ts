import { describe, expect, it } from '@jest/globals';
import { createMemoryLog } from '@hangar/messaging/memory';
import { runVariables } from './run-variables.ts';

const meta = { actor: 'owner:ada', cause: null, correlation: 'test' };
const own = { ANTHROPIC_BASE_URL: 'http://127.0.0.1:1', MODE: 'machine' };
const hostVariables = {
  ANTHROPIC_API_KEY: 'key-of-the-machine',
  ...own,
};

async function variables(recipe: object | null, secrets: Record<string, string> = {}) {
  const log = createMemoryLog();
  const store = log.store({ owns: ['environment'], validate: () => undefined });
  const asked: string[][] = [];
  if (recipe) {
    const recipe_json = JSON.stringify({ name: 'default', ...recipe });
    const event = { type: 'EnvironmentDefined', data: { recipe_json } };
    await store.append('environment/ada_default', 0, [event], { meta });
  }
  const revealSecrets = async (_asker: object, names: string[]) => {
    asked.push(names);
    return secrets;
  };
  const asker = { owner: 'ada', environment: 'default', session: 'ses-1a2b3c4d' };
  const found = await runVariables(store, { hostVariables, revealSecrets }, asker);
  return { ...found, asked };
}

describe("a run's variables", () => {
  it("are the machine's, then the recipe's, then the owner's secrets [Z2]", async () => {
    const { envVars, asked } = await variables(
      { env: { MODE: 'recipe', CI: '1' }, secrets: ['CI'] },
      { CI: 'secret' },
    );
    expect(envVars).toEqual({ ...own, MODE: 'recipe', CI: 'secret' });
    expect(asked).toEqual([['CI']]);
  });

  it("hide what is secret: the machine's keys, and all that the owner keeps, URLs too", async () => {
    const url = 'postgres://app:pass@db/app';
    const { secrets } = await variables({ secrets: ['DATABASE_URL'] }, { DATABASE_URL: url });
    expect(secrets).toEqual([
      { name: 'ANTHROPIC_API_KEY', value: 'key-of-the-machine' },
      { name: 'MODE', value: 'machine' },
      { name: 'DATABASE_URL', value: url },
    ]);
  });

  it("a provider's key can be asked for, but not one that the recipe has in the clear [R5]", async () => {
    const { askable } = await variables(
      { env: { OPENAI_API_KEY: 'clear' }, secrets: ['GEMINI_API_KEY', 'CI'] },
      { GEMINI_API_KEY: 'secret', CI: 'secret' },
    );
    expect(askable).toEqual(['ANTHROPIC_API_KEY', 'GEMINI_API_KEY']);
    const clear = await variables({ env: { ANTHROPIC_API_KEY: 'clear' } });
    expect(clear.askable).toEqual([]);
  });

  it("are the machine's alone where the environment is not there", async () => {
    const { envVars, asked } = await variables(null);
    expect(envVars).toEqual(own);
    expect(asked).toEqual([]);
  });
});
