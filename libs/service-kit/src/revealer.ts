import { HangarError } from '@hangar/contracts';
import type { SecretStore } from './secrets.ts';

/**
 * The values of an owner's secrets as environment variables. Throws `conflict` and names those
 * that an environment asks for and that were never set: an empty variable would mislead.
 */
export function secretRevealer(
  store: SecretStore,
): (owner: string, names: string[]) => Promise<Record<string, string>> {
  return async (owner, names) => {
    if (names.length === 0) return {};
    const { values, missing } = await store.reveal(owner, names);
    if (missing.length === 0) return Object.fromEntries(values);
    throw new HangarError(
      'conflict',
      `the environment names secrets that are not set: ${missing.join(', ')}`,
      {
        hint: `set each with: hangar secret set ${missing[0]}`,
      },
    );
  };
}
