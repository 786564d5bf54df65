import {
  HangarError,
  IDLE_MINUTES_DEFAULT,
  sessionBranch,
  sessionCwd,
  type CreateSession,
  type HarnessDocument,
  type Permissions,
  type Recipe,
  type SessionEvents,
} from '@hangar/contracts';
import type { GatewaySettings } from '../settings.ts';

/** Fields of the command CreateSession. */
export type NewSession = Omit<SessionEvents['SessionCreated'], 'created_at'> & {
  message?: { message_id: string; text: string };
  permissions?: Permissions;
};

/**
 * The session that a person asks for, with what the environment and the settings say where they
 * said nothing. Throws `invalid` for a harness that is not known here or not allowed there.
 */
export function newSession(
  ids: { session_id: string; message_id: string; owner: string },
  body: CreateSession,
  recipe: Recipe,
  settings: GatewaySettings,
): NewSession {
  requireHarness(body, recipe, settings.harnesses);
  requireAsking(body.harness, body.permissions ?? ALL_ALLOWED, settings.harnesses);
  const repo = body.repo ?? recipe.repo;
  const baseBranch = body.base_branch ?? recipe.base_branch;
  return {
    session_id: ids.session_id,
    name: body.name,
    title: body.title ?? body.name,
    owner: ids.owner,
    environment: body.environment,
    harness: body.harness,
    ...(body.model === undefined ? {} : { model: body.model }),
    ...(repo === undefined ? {} : { repo }),
    ...(baseBranch === undefined ? {} : { base_branch: baseBranch }),
    branch: body.branch ?? sessionBranch(body.name),
    cwd: sessionCwd(repo ?? null, body.name),
    idle_minutes: body.idle_minutes ?? recipe.idle_minutes ?? IDLE_MINUTES_DEFAULT,
    turn_minutes: recipe.turn_minutes ?? settings.turnMinutes,
    checkpoints_kept_max: settings.sessionKeepCheckpoints,
    ...(body.message === undefined
      ? {}
      : { message: { message_id: ids.message_id, text: body.message } }),
    ...(body.permissions === undefined ? {} : { permissions: body.permissions }),
  };
}

/** What may run in an environment: what is installed, and of that what its recipe names. */
export function allowedHarnesses(
  recipe: Recipe | null,
  known: readonly HarnessDocument[],
): string[] {
  const wanted = recipe?.harnesses;
  return known
    .map(({ name }) => name)
    .filter((name) => wanted === undefined || wanted.includes(name));
}

/** Throws `invalid` for a harness that is not known here or not allowed in the environment. */
export function requireHarness(
  body: Pick<CreateSession, 'harness' | 'environment'>,
  recipe: Recipe,
  known: readonly HarnessDocument[],
): void {
  const allowed = allowedHarnesses(recipe, known);
  if (allowed.includes(body.harness)) return;
  const isKnown = known.some(({ name }) => name === body.harness);
  const message = isKnown
    ? `The environment ${body.environment} does not allow the harness ${body.harness}.`
    : `There is no harness ${body.harness} here.`;
  throw new HangarError('invalid', message, {
    hint: `Use one of: ${named(allowed, known)}.`,
  });
}

/** For people: without hangar's own, which is for trying things out. */
export const named = (allowed: string[], known: readonly HarnessDocument[]): string =>
  known
    .filter(({ name, version }) => version !== null && allowed.includes(name))
    .map(({ name }) => name)
    .join(', ') || '(none is installed)';

const ALL_ALLOWED: Permissions = { mode: 'all', rules: [] };

/**
 * Throws `invalid` for rules on a harness that runs its tools without asking: nobody could hold it
 * to them [A3].
 */
export function requireAsking(
  harness: string,
  { mode, rules }: Permissions,
  known: readonly HarnessDocument[],
): void {
  if (mode === 'all' && rules.length === 0) return;
  const found = known.find(({ name }) => name === harness);
  if (found?.capabilities['approvals'] === true) return;
  const able = known.filter(({ capabilities }) => capabilities['approvals'] === true);
  throw new HangarError('invalid', `${harness} runs its tools without asking for leave.`, {
    hint: `Allow all, or use one of: ${named(
      able.map(({ name }) => name),
      known,
    )}.`,
  });
}
