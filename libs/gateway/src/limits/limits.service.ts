import * as contract from '@hangar/contracts';
import {
  HangarError,
  type HarnessDocument,
  type LimitsDocument,
  type LimitsQuery,
  type Recipe,
} from '@hangar/contracts';
import type { Caller } from '../auth/caller.ts';
import type { EnvironmentReader } from '../environments/environment.reader.ts';
import { allowedHarnesses, named } from '../sessions/new-session.ts';
import type { GatewaySettings } from '../settings.ts';
import { builtInLimits, type Limit } from './built-in-limits.ts';

/** What is in force before anything starts [S8]: the same values that new sessions get. */
export class LimitsService {
  readonly #environments: EnvironmentReader;
  readonly #settings: GatewaySettings;

  constructor(environments: EnvironmentReader, settings: GatewaySettings) {
    this.#environments = environments;
    this.#settings = settings;
  }

  harnesses(): HarnessDocument[] {
    // The one without a version is hangar's own, for trying things out: it can be named, not found.
    return this.#settings.harnesses.filter(({ version }) => version !== null);
  }

  async limits(caller: Caller, query: LimitsQuery): Promise<LimitsDocument> {
    const { environment = null, harness = null } = query;
    const recipe = environment
      ? (await this.#environments.get(caller.owner, environment)).recipe
      : null;
    if (harness) requireHarness(harness, recipe, this.#settings.harnesses);
    return { environment, harness, limits: limitsOf(recipe, this.#settings) };
  }
}

function requireHarness(
  harness: string,
  recipe: Recipe | null,
  known: readonly HarnessDocument[],
): void {
  const allowed = allowedHarnesses(recipe, known);
  if (allowed.includes(harness)) return;
  throw new HangarError('invalid', `The harness ${harness} cannot be used here.`, {
    hint: `Use one of: ${named(allowed, known)}.`,
  });
}

export function limitsOf(recipe: Recipe | null, settings: GatewaySettings): Limit[] {
  return [...recipeLimits(recipe, settings), ...settingLimits(settings), ...builtInLimits()];
}

function recipeLimits(recipe: Recipe | null, settings: GatewaySettings): Limit[] {
  const of = (
    name: 'idle_minutes' | 'turn_minutes' | 'session_max_part_mb' | 'session_max_untracked_mb',
    unit: string,
    fallback: number,
    setting: string | null,
    does: string,
  ): Limit => ({
    name,
    value: recipe?.[name] ?? fallback,
    unit,
    default: fallback,
    source: recipe?.[name] !== undefined ? 'environment' : setting ? 'setting' : 'built_in',
    changed_by: setting ? `recipe.${name} or ${setting}` : `recipe.${name}`,
    does,
  });
  return [
    of(
      'idle_minutes',
      'minutes',
      contract.IDLE_MINUTES_DEFAULT,
      null,
      'Without activity for this long a session suspends; 0: never. POST .../keep changes it.',
    ),
    of(
      'turn_minutes',
      'minutes',
      settings.turnMinutes,
      'HANGAR_TURN_MINUTES',
      'A turn that takes longer is timed out; its work is kept.',
    ),
    of(
      'session_max_part_mb',
      'megabytes',
      settings.sessionMaxPartMb,
      'HANGAR_SESSION_MAX_PART_MB',
      'A larger part of a checkpoint is left out, which makes the checkpoint incomplete.',
    ),
    of(
      'session_max_untracked_mb',
      'megabytes',
      settings.sessionMaxUntrackedMb,
      'HANGAR_SESSION_MAX_UNTRACKED_MB',
      'More untracked files than this are left out, which makes the checkpoint incomplete.',
    ),
  ];
}

function settingLimits(settings: GatewaySettings): Limit[] {
  const of = (name: string, value: number, unit: string, setting: string, does: string): Limit => ({
    name,
    value,
    unit,
    default: value,
    source: 'setting',
    changed_by: setting,
    does,
  });
  return [
    of(
      'session_keep_checkpoints',
      settings.sessionKeepCheckpoints,
      'checkpoints',
      'HANGAR_SESSION_KEEP_CHECKPOINTS',
      'The newest that are kept, besides the newest complete one and that of the last turn.',
    ),
    of(
      'session_checkpoint_minutes',
      settings.sessionCheckpointMinutes,
      'minutes',
      'HANGAR_SESSION_CHECKPOINT_MINUTES',
      'A checkpoint is taken this often while something changes.',
    ),
    of(
      'start_deadline_minutes',
      settings.startDeadlineMinutes,
      'minutes',
      'HANGAR_START_DEADLINE_MINUTES',
      'A sandbox that is not ready by then makes the session FAILED.',
    ),
    of(
      'sandbox_ttl_minutes',
      settings.sandboxTtlMinutes,
      'minutes',
      'HANGAR_SANDBOX_TTL_MINUTES',
      'Lifetime of a sandbox; extended while its session is live.',
    ),
    of(
      'max_active_sessions',
      settings.maxActiveSessions,
      'sessions',
      'HANGAR_MAX_ACTIVE_SESSIONS',
      'Sessions that have a sandbox at the same time.',
    ),
  ];
}
