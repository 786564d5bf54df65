import * as contract from '@hangar/contracts';
import {
  HangarError,
  type HarnessDocument,
  type LimitsDocument,
  type LimitsQuery,
  type Recipe,
} from '@hangar/contracts';
import { SCROLLBACK_BYTES_MAX, TERMINALS_MAX, VIEWERS_MAX } from '@hangar/sandbox-drivers';
import type { Caller } from '../auth/caller.ts';
import type { EnvironmentReader } from '../environments/environment.reader.ts';
import { allowedHarnesses, named } from '../sessions/new-session.ts';
import type { GatewaySettings } from '../settings.ts';

type Limit = LimitsDocument['limits'][number];

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
  return [...recipeLimits(recipe, settings), ...settingLimits(settings), ...builtIn()];
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

function builtIn(): Limit[] {
  const of = (name: string, value: number, unit: string, does: string): Limit => ({
    name,
    value,
    unit,
    default: value,
    source: 'built_in',
    changed_by: null,
    does,
  });
  return [
    of('messages_queued', contract.MESSAGES_QUEUED_MAX, 'messages', 'Waiting in one session.'),
    of('message_bytes', contract.MESSAGE_BYTES_MAX, 'bytes', 'Of one message.'),
    of('idle_minutes_max', contract.IDLE_MINUTES_MAX, 'minutes', 'The longest idle_minutes.'),
    of('turn_minutes_max', contract.TURN_MINUTES_MAX, 'minutes', 'The longest turn_minutes.'),
    of('body_bytes', contract.BODY_BYTES_MAX, 'bytes', 'Of the body of a request.'),
    of('secret_bytes', contract.SECRET_BYTES_MAX, 'bytes', 'Of the value of a secret.'),
    of('wait_seconds', contract.WAIT_SECONDS_MAX, 'seconds', 'The longest ?wait.'),
    of('page_size', contract.PAGE_SIZE_MAX, 'items', 'On one page of a list.'),
    of('exec_seconds', contract.EXEC_SECONDS_MAX, 'seconds', 'The longest exec.'),
    of('exec_output_bytes', contract.EXEC_OUTPUT_BYTES_MAX, 'bytes', 'Each of stdout and stderr.'),
    of('exec_stdin_bytes', contract.EXEC_STDIN_BYTES_MAX, 'bytes', 'Input of an exec.'),
    of('terminals', TERMINALS_MAX, 'terminals', 'Of one sandbox; ended ones make room.'),
    of('terminal_viewers', VIEWERS_MAX, 'viewers', 'Attached to one terminal.'),
    of('terminal_scrollback_bytes', SCROLLBACK_BYTES_MAX, 'bytes', 'Kept of what one printed.'),
    of('webhooks', contract.WEBHOOKS_PER_OWNER_MAX, 'webhooks', 'Of one owner.'),
    of('webhook_waiting', contract.WEBHOOK_WAITING_MAX, 'deliveries', 'Waiting for one webhook.'),
    of('webhook_delivery_days', contract.WEBHOOK_DELIVERY_DAYS, 'days', 'Deliveries are kept.'),
    of('idempotency_key_days', contract.IDEMPOTENCY_KEY_DAYS, 'days', 'Keys are remembered.'),
  ];
}
