import { describe, expect, it } from '@jest/globals';
import { createMemoryLog } from '@hangar/messaging/memory';
import { sessionCaps } from './session-caps.ts';

const SETTINGS = { partBytesMax: 200_000_000, untrackedBytesMax: 50_000_000 };
const meta = { actor: 'owner:ada', cause: null, correlation: 'test' };

async function caps(...recipes: object[]) {
  const log = createMemoryLog();
  const store = log.store({ owns: ['session', 'environment'], validate: () => undefined });
  const data = { owner: 'ada', environment: 'default' };
  await store.append('session/ses-1a2b3c4d', 0, [{ type: 'SessionCreated', data }], { meta });
  for (const [version, recipe] of recipes.entries()) {
    const recipe_json = JSON.stringify({ name: 'default', ...recipe });
    const event = { type: 'EnvironmentDefined', data: { recipe_json } };
    await store.append('environment/ada_default', version, [event], { meta });
  }
  return sessionCaps(store, SETTINGS, 'ses-1a2b3c4d');
}

describe('the caps of a checkpoint [S8]', () => {
  it("are the settings' where the environment says nothing, or is not there", async () => {
    expect(await caps()).toEqual(SETTINGS);
    expect(await caps({})).toEqual(SETTINGS);
  });

  it("are the environment's newest, in megabytes; nothing is nothing", async () => {
    const first = { session_max_part_mb: 1, session_max_untracked_mb: 2 };
    expect(await caps(first)).toEqual({ partBytesMax: 1_000_000, untrackedBytesMax: 2_000_000 });
    expect(await caps(first, { session_max_untracked_mb: 0 })).toEqual({
      partBytesMax: SETTINGS.partBytesMax,
      untrackedBytesMax: 0,
    });
  });

  it("are the settings' for a session that nobody knows", async () => {
    const log = createMemoryLog();
    const store = log.store({ owns: ['session'], validate: () => undefined });
    expect(await sessionCaps(store, SETTINGS, 'ses-99999999')).toEqual(SETTINGS);
  });
});
