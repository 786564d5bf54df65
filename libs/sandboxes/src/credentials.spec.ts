import { afterEach, describe, expect, it } from '@jest/globals';
import { HangarError, recipeSchema, type RecipeInput } from '@hangar/contracts';
import { createFakeDriver, type FakeDriver } from '@hangar/sandbox-drivers/fake';
import type { SandboxRef } from '@hangar/sandbox-drivers';
import { CredentialSource, type KnownSecret } from '@hangar/service-kit';
import { eventually } from '@hangar/testing';
import { createCredentials, type Credentials } from './credentials.ts';

const RECIPE = {
  name: 'web',
  secrets: ['NPM_TOKEN'],
  git: [{ host: 'git.example', path: 'acme', secret: 'GIT_TOKEN', username: 'bot' }],
};
const GET = { operation: 'get', protocol: 'https', host: 'git.example', path: 'acme/app.git' };

describe('the credentials of a sandbox', () => {
  let credentials: Credentials | undefined;
  afterEach(async () => credentials?.close());

  const bench = async (options: { serve?: FakeDriver['serveCredentials'] } = {}) => {
    const driver = createFakeDriver();
    const secrets: Record<string, Record<string, string>> = {};
    const recipes: Record<string, RecipeInput> = { ada: RECIPE, bob: { name: 'web' } };
    const noted: [string, KnownSecret][] = [];
    const told: string[] = [];
    const errors: unknown[] = [];
    const forgotten: string[] = [];
    const store = {
      reveal: async (owner: string, names: readonly string[]) => {
        const own = secrets[owner] ?? {};
        const there = names.filter((name) => name in own);
        return { values: new Map(there.map((name) => [name, own[name]!])), missing: [] };
      },
    };
    const made = createCredentials({
      driver: options.serve ? { ...driver, serveCredentials: options.serve } : driver,
      source: new CredentialSource({ store, command: null, now: () => new Date() }),
      handed: {
        note: async (id, secret) => void noted.push([id, secret]),
        list: async (id) => noted.filter(([of]) => of === id).map(([, secret]) => secret),
        forget: async (id) => void forgotten.push(id),
      },
      tellHanded: async (id) => void told.push(`${id} ${noted.length}`),
      machineKeys: { ANTHROPIC_API_KEY: 'key of the machine' },
      onError: (error) => errors.push(error),
    });
    credentials = made;
    const open = async (owner: string, id = `sbx-${owner}`): Promise<SandboxRef> => {
      const spec = { id, sessionId: `ses-${owner}`, cwd: '/workspace', envVars: {} };
      const ref = await driver.create({ ...spec, network: 'open', mounts: [], resources: {} });
      made.serve(ref, async () => ({
        asker: { owner, environment: 'web', session: `ses-${owner}` },
        recipe: recipeSchema.parse(recipes[owner]),
      }));
      await eventually(async () => (await driver.askCredential(id, {})) !== null);
      return ref;
    };
    const ask = async (request: Record<string, string>, id = 'sbx-ada') =>
      driver.askCredential(id, request).catch((error: unknown) => HangarError.from(error).message);
    return { driver, secrets, recipes, noted, told, forgotten, errors, open, ask, made };
  };

  it('are the newest ones: a rotation is seen at the next ask, and a revocation [R5]', async () => {
    const { secrets, open, ask } = await bench();
    await open('ada');
    const answers: unknown[] = [];
    for (const value of ['first', 'second\n']) {
      secrets['ada'] = { GIT_TOKEN: value };
      answers.push(await ask(GET));
    }
    secrets['ada'] = {};
    answers.push(await ask(GET));
    expect(answers).toEqual([
      { output: 'username=bot\npassword=first\n' },
      { output: 'username=bot\npassword=second\n' },
      'the environment names secrets that are not set: GIT_TOKEN',
    ]);
  });

  it("are those of the sandbox's own session, whatever it asks [Z3]", async () => {
    const { secrets, open, ask } = await bench();
    secrets['ada'] = { GIT_TOKEN: 'of ada', NPM_TOKEN: 'of ada' };
    secrets['bob'] = { GIT_TOKEN: 'of bob', NPM_TOKEN: 'of bob' };
    await open('ada');
    await open('bob');
    const npm = { operation: 'secret', name: 'NPM_TOKEN', owner: 'ada', session: 'ses-ada' };
    expect(await ask(npm)).toEqual({ output: 'of ada' });
    expect(await ask(npm, 'sbx-bob')).toHaveProperty('refused');
    expect(await ask(GET, 'sbx-bob')).toHaveProperty('refused');
  });

  it('follow the environment as it is now', async () => {
    const { secrets, recipes, open, ask } = await bench();
    secrets['ada'] = { GIT_TOKEN: 't' };
    await open('ada');
    expect(await ask(GET)).toHaveProperty('output');
    recipes['ada'] = { ...RECIPE, git: [] };
    expect(await ask(GET)).toHaveProperty('refused');
  });

  it("have the machine's key where the environment names none of its own", async () => {
    const { open, ask } = await bench();
    await open('ada');
    const key = { operation: 'secret', name: 'ANTHROPIC_API_KEY' };
    expect(await ask(key)).toEqual({ output: 'key of the machine' });
  });

  it('are noted, and whoever hides them knows, before they are handed out; once each [Z2]', async () => {
    const { secrets, noted, told, open, ask } = await bench();
    secrets['ada'] = { GIT_TOKEN: 'first' };
    await open('ada');
    for (const value of ['first', 'first', 'second', 'first']) {
      secrets['ada'] = { GIT_TOKEN: value };
      await ask(GET);
    }
    expect(noted).toEqual([
      ['sbx-ada', { name: 'GIT_TOKEN', value: 'first' }],
      ['sbx-ada', { name: 'GIT_TOKEN', value: 'second' }],
    ]);
    expect(told).toEqual(['sbx-ada 1', 'sbx-ada 2']);
  });

  it('of several lines are no password', async () => {
    const { secrets, open, ask } = await bench();
    secrets['ada'] = { GIT_TOKEN: 'a\nhost=other.example' };
    await open('ada');
    expect(await ask(GET)).toEqual({
      refused: 'the secret GIT_TOKEN has several lines: it is no password',
    });
  });

  it('are answered again after a lost connection, and forgotten when the sandbox is gone', async () => {
    let lost = 2;
    const { driver, errors, forgotten, open } = await bench({
      serve: async (ref, answer, signal) => {
        if ((lost -= 1) >= 0) throw new HangarError('unavailable', 'lost');
        return driver.serveCredentials(ref, answer, signal);
      },
    });
    const ref = await open('ada');
    expect(errors).toEqual([]);
    expect(lost).toBeLessThan(0);
    expect(forgotten).toEqual([]);
    driver.vanish(ref.id);
    await eventually(() => forgotten.length > 0);
    expect(forgotten).toEqual(['sbx-ada']);
  });
});
