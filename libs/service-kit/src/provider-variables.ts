/** Keys of model providers: each reaches a run by the CLI's own way of asking where it has one. */
export const PROVIDER_KEYS = [
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'GEMINI_API_KEY',
  'OPENROUTER_API_KEY',
] as const;

/** What a run gets from hangar's own environment when the machine's owner put it there. */
const PROVIDER_VARIABLES = [
  ...PROVIDER_KEYS,
  'ANTHROPIC_AUTH_TOKEN',
  'ANTHROPIC_BASE_URL',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'OPENAI_BASE_URL',
  'GOOGLE_GEMINI_BASE_URL',
] as const;

type Variables = Readonly<Record<string, string | undefined>>;

export const providerVariables = (envVars: Variables): Record<string, string> =>
  pick(envVars, PROVIDER_VARIABLES);

export const providerKeys = (envVars: Variables): Record<string, string> =>
  pick(envVars, PROVIDER_KEYS);

const pick = (envVars: Variables, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = envVars[name];
      return value ? [[name, value]] : [];
    }),
  );
