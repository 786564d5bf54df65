import { recipeSchema } from '@hangar/contracts';
import { streamName, type EventStore } from '@hangar/messaging';
import type { CheckpointCaps } from './checkpoint.worker.ts';

const MEGABYTE = 1_000_000;

/**
 * The caps of a session's checkpoints: those of its environment's newest recipe, else the
 * settings'. Read from the log, so that a changed recipe counts from the next checkpoint on.
 */
export async function sessionCaps(
  store: EventStore,
  settings: CheckpointCaps,
  sessionId: string,
): Promise<CheckpointCaps> {
  const [created] = await store.readStream(streamName('session', sessionId), 1, 1);
  if (created?.type !== 'SessionCreated') return settings;
  const { owner, environment } = created.data as { owner: string; environment: string };
  const { events } = await store.load(streamName('environment', `${owner}_${environment}`));
  const defined = events.findLast((event) => event.type === 'EnvironmentDefined');
  if (!defined) return settings;
  const recipe = recipeSchema.parse(JSON.parse(String(defined.data['recipe_json'])));
  const bytes = (megabytes: number | undefined, otherwise: number): number =>
    megabytes === undefined ? otherwise : megabytes * MEGABYTE;
  return {
    partBytesMax: bytes(recipe.session_max_part_mb, settings.partBytesMax),
    untrackedBytesMax: bytes(recipe.session_max_untracked_mb, settings.untrackedBytesMax),
  };
}
