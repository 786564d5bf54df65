import { recipeSchema } from '@hangar/contracts';
import { streamName, type EventStore } from '@hangar/messaging';
import { PROVIDER_KEYS, type CredentialAsker } from '@hangar/service-kit';

export interface RunVariables {
  envVars: Record<string, string>;
  /** Provider keys among them that processes of the sandbox can ask hangar for. */
  askable: string[];
  /** What has to be hidden in everything that is told of the run [Z2]. */
  secrets: { name: string; value: string }[];
}

export interface VariableSources {
  /** Secrets by name. */
  revealSecrets(asker: CredentialAsker, names: string[]): Promise<Record<string, string>>;
  /** Credentials and endpoints that the machine's owner put into hangar's own environment. */
  hostVariables: Record<string, string>;
}

const isProviderKey = (name: string): boolean => PROVIDER_KEYS.some((key) => key === name);

/** The machine's credentials, then the recipe's variables, then the owner's secrets. */
export async function runVariables(
  store: EventStore,
  { hostVariables, revealSecrets }: VariableSources,
  asker: CredentialAsker,
): Promise<RunVariables> {
  const { owner, environment } = asker;
  const { events } = await store.load(streamName('environment', `${owner}_${environment}`));
  const defined = events.findLast((event) => event.type === 'EnvironmentDefined');
  const recipe = defined
    ? recipeSchema.parse(JSON.parse(String(defined.data['recipe_json'])))
    : null;
  const revealed = recipe ? await revealSecrets(asker, recipe.secrets) : {};
  // Endpoints of the machine are no secrets; what an owner keeps as one is, also a URL.
  const secrets = [
    ...Object.entries(hostVariables).filter(([name]) => !name.endsWith('_URL')),
    ...Object.entries(revealed),
  ].map(([name, value]) => ({ name, value }));
  // What a recipe has in the clear is nobody's to ask for.
  const askable = PROVIDER_KEYS.filter(
    (name) => name in revealed || (name in hostVariables && !(name in (recipe?.env ?? {}))),
  );
  // The machine's keys are long-lived: they are asked for, so that none is a run's variable [X9].
  const variables = Object.entries(hostVariables).filter(([name]) => !isProviderKey(name));
  const envVars = { ...Object.fromEntries(variables), ...recipe?.env, ...revealed };
  return { envVars, askable, secrets };
}
