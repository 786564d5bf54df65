/** Which provider serves a model, for the harnesses that speak with several. */
import type { TurnSpec } from './harness-adapter.ts';

/** Providers by the credential that a session carries; the first that is there is used. */
export const PROVIDERS: readonly { name: string; credentials: readonly string[] }[] = [
  {
    name: 'anthropic',
    credentials: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_OAUTH_TOKEN'],
  },
  { name: 'openai', credentials: ['OPENAI_API_KEY'] },
  { name: 'google', credentials: ['GEMINI_API_KEY'] },
  { name: 'openrouter', credentials: ['OPENROUTER_API_KEY'] },
];

/** `provider/model` names both; else the provider follows from the model's family and the keys. */
export function modelChoice(turn: Pick<TurnSpec, 'model' | 'envVars' | 'keyCommands'>): {
  provider: string | null;
  model: string | null;
} {
  const { model, envVars, keyCommands } = turn;
  const slash = model?.indexOf('/') ?? -1;
  if (model !== null && slash > 0) {
    return { provider: model.slice(0, slash), model: model.slice(slash + 1) };
  }
  const usable = PROVIDERS.filter(({ credentials }) =>
    credentials.some((key) => envVars[key] || keyCommands[key]),
  );
  const found = usable.find(({ name }) => name === family(model)) ?? usable[0];
  return { provider: found?.name ?? null, model };
}

function family(model: string | null): string | null {
  if (model === null) return null;
  if (/^(gpt|o\d|codex)/.test(model)) return 'openai';
  return model.startsWith('gemini') ? 'google' : null;
}
