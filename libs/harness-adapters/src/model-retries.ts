/** How often a harness may repeat one request to the model before the turn fails. */
import type { TurnSpec } from './harness-adapter.ts';

/** Repeats by default: with the harnesses' back-off about a minute of trying. */
export const MODEL_RETRIES = 4;
/** The setting that changes it, and the most it allows. */
export const MODEL_RETRIES_VARIABLE = 'HANGAR_MODEL_RETRIES';
export const MODEL_RETRIES_MAX = 10;

export function modelRetries(turn: Pick<TurnSpec, 'envVars'>): number {
  const asked = Number(turn.envVars[MODEL_RETRIES_VARIABLE] ?? MODEL_RETRIES);
  if (!Number.isInteger(asked) || asked < 0) return MODEL_RETRIES;
  return Math.min(asked, MODEL_RETRIES_MAX);
}
