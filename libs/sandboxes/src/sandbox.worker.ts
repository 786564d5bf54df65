import { setTimeout as delay } from 'node:timers/promises';
import {
  CLONE_MINUTES_MAX,
  HangarError,
  SETUP_MINUTES_MAX,
  type Recipe,
  type SandboxPlace,
} from '@hangar/contracts';
import { metaOfEffect, type LeasedEffect } from '@hangar/messaging';
import type { SandboxDriver, SandboxRef, SandboxSpec } from '@hangar/sandbox-drivers';
import { createRedactor, type CredentialAsker } from '@hangar/service-kit';
import { CHECKOUT_SCRIPT, localRemote, withoutUserinfo } from './checkout.ts';
import type { Credentials, Holder } from './credentials.ts';
import { loadRecipe, type Environments } from './environment.service.ts';
import { MIRROR, type Mirrors } from './mirrors.ts';
import type { SandboxCommand } from './sandbox.decider.ts';
import type { Sandboxes } from './sandbox.service.ts';
import type { SandboxRequest } from './sandbox.ts';
import { runCommand } from './run-command.ts';

export interface WorkerOptions {
  sandboxes: Sandboxes;
  environments: Environments;
  driver: SandboxDriver;
  ttlMinutes: number;
  /** Directory on this machine with the harness's CLI; fetched when it is not there yet. */
  installHarness(name: string, log: (line: string) => void): Promise<string>;
  /** Values of secrets, for set-up commands. */
  revealSecrets(asker: CredentialAsker, names: string[]): Promise<Record<string, string>>;
  forgetPresence(sandboxId: string): Promise<void>;
  mirrors: Mirrors;
  credentials: Pick<Credentials, 'serve' | 'handed' | 'forget'>;
  /** How many sandboxes asked for before this one are not over yet [X6]. */
  sandboxesAhead(sandboxId: string): Promise<number>;
  activeMax: number;
  now(): Date;
}

const HARNESS_ROOT = '/hangar/harness';
/** Of what a failed command printed, for people. */
const OUTPUT_CHARACTERS_MAX = 2000;

/** A start that failed for a reason that trying again would not change. */
class StartFailure extends Error {
  readonly phase: string;
  constructor(phase: string, reason: string) {
    super(reason);
    this.phase = phase;
  }
}

export interface SandboxWorker {
  provision(effect: LeasedEffect, signal: AbortSignal): Promise<void>;
  destroy(effect: LeasedEffect, signal: AbortSignal): Promise<void>;
}

/** The slow outside work of sandboxes: each step can be done again, so a crash costs only time. */
export function createSandboxWorker(options: WorkerOptions): SandboxWorker {
  const { sandboxes, driver, now } = options;
  const tell = async (
    effect: LeasedEffect,
    command: Omit<SandboxCommand, 'now'>,
  ): Promise<void> => {
    const id = String(effect.payload['sandbox_id']);
    const full = { ...command, now: now().toISOString() } as SandboxCommand;
    await sandboxes.execute(id, full, { meta: metaOfEffect(effect.payload, 'sandboxes') });
  };
  return {
    provision: async (effect, signal) => {
      const id = String(effect.payload['sandbox_id']);
      const { state } = await sandboxes.load(id);
      // One after the other: a person reads them as a story.
      let told: Promise<void> = Promise.resolve();
      const progress = (phase: string, text: string): Promise<void> =>
        (told = told
          // One that could not be told is the error of whoever told it, not of those after it.
          .catch(() => undefined)
          .then(() => tell(effect, { type: 'NoteProgress', data: { phase, text } })));
      try {
        if (state?.status === 'provisioning') {
          await waitForRoom(options, id, progress, signal);
          const ready = await provision(options, state.request, progress, signal);
          await tell(effect, { type: 'MarkReady', data: ready });
        }
      } catch (error) {
        signal.throwIfAborted();
        const failure = HangarError.from(error);
        const isTerminal = error instanceof StartFailure || ANSWERS.has(failure.code);
        const isLast = isTerminal || effect.attempt >= PROVISION_ATTEMPTS_MAX;
        if (!isLast && (await isWanted(sandboxes, id))) throw error;
        const phase = error instanceof StartFailure ? error.phase : 'starting';
        await tell(effect, { type: 'MarkFailed', data: { phase, reason: inWords(failure) } });
      }
      // A destroy that was asked for meanwhile found nothing to destroy, perhaps.
      const after = await sandboxes.load(id);
      if (after.state?.status === 'ready') return;
      await driver.destroy(id);
      await options.credentials.forget(id);
    },
    destroy: async (effect) => {
      const id = String(effect.payload['sandbox_id']);
      await driver.destroy(id);
      await options.forgetPresence(id);
      await options.credentials.forget(id);
      const cause = String(effect.payload['cause']);
      await tell(effect, { type: 'MarkDestroyed', data: { cause } });
    },
  };
}

/** What happened, and what to do about it. */
const inWords = ({ message, hint }: HangarError): string =>
  [message, hint].filter(Boolean).join('; ');

const isWanted = async (sandboxes: Sandboxes, id: string): Promise<boolean> =>
  (await sandboxes.load(id)).state?.status === 'provisioning';

const ROOM_LOOK_MS = 1_000;

/** At capacity the new one waits, visibly, with its place in the queue [X6]. */
async function waitForRoom(
  { sandboxesAhead, activeMax, sandboxes }: WorkerOptions,
  id: string,
  progress: (phase: string, text: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const place = (await sandboxesAhead(id)) - activeMax + 1;
    if (place <= 0) return;
    if (!(await isWanted(sandboxes, id)))
      throw new StartFailure('queued', 'it is no longer wanted');
    await progress('queued', `all ${activeMax} places are taken; number ${place} in the queue`);
    await delay(ROOM_LOOK_MS, null, { signal });
  }
}

/** With the effect runner's pauses (1, 2, 4 ... 32 s) a minute: longer trouble is told to the person. */
const PROVISION_ATTEMPTS_MAX = 7;
/** Errors that trying again would not change. */
const ANSWERS: ReadonlySet<string> = new Set(['invalid', 'not_found', 'forbidden']);

async function provision(
  options: WorkerOptions,
  request: SandboxRequest,
  progress: (phase: string, text: string) => Promise<void>,
  signal: AbortSignal,
): Promise<{ place: SandboxPlace; expires_at: string; environment_version: number }> {
  const { driver, environments, installHarness, ttlMinutes, now } = options;
  const { version, recipe } = await loadRecipe(environments, request.owner, request.environment);
  // A recipe's wish that is not met is told, never passed over.
  if (recipe.image !== undefined)
    throw new StartFailure(
      'image',
      `the ${driver.kind} driver runs no images: take \`image\` out of the environment ${request.environment}`,
    );
  await progress('harness', `preparing ${request.harness}`);
  const harnessDirectory = await installHarness(
    request.harness,
    (line) => void progress('harness', line).catch(() => undefined),
  ).catch((error: unknown) => {
    const failure = HangarError.from(error);
    throw ANSWERS.has(failure.code) ? new StartFailure('harness', inWords(failure)) : error;
  });
  await progress('starting', 'starting the sandbox');
  const mirror = request.repo ? await options.mirrors.open(request.owner, request.repo) : null;
  const spec = specOf(request, recipe, harnessDirectory, mirror);
  const ref = await driver
    .create(spec, signal)
    .catch((error: unknown) => clearStopped(driver, request.sandbox_id, error));
  options.credentials.serve(ref, () => holderOf(options, request.sandbox_id));
  const status = await driver.get(request.sandbox_id);
  if (status?.phase !== 'ready')
    throw new HangarError('unavailable', 'the sandbox ended right after it was started');
  const { paths } = status;
  const cwd = request.cwd.replace(/^\/workspace(?=\/|$)/, paths.workspace);
  const mirrorInside = mirror === null ? '' : (paths.mounts[MIRROR] ?? MIRROR);
  // Set-up commands work on files; without them a restore is the first to need any.
  const hasFiles = recipe.setup.length > 0 || !request.has_checkpoint;
  const place = { ref, cwd, mirror: mirrorInside, hasFiles };
  await checkOut(options, request, place, progress, signal);
  if (request.repo) options.mirrors.feed(request.owner, request.repo, recipe);
  await setUp(options, request, recipe, ref, cwd, progress, signal);
  return {
    place: {
      sandbox_id: request.sandbox_id,
      instance: ref.instance,
      home: paths.home,
      cwd,
      node: paths.node,
      tools: paths.tools,
      harness_root: paths.mounts[HARNESS_ROOT] ?? HARNESS_ROOT,
    },
    expires_at: new Date(now().getTime() + ttlMinutes * 60_000).toISOString(),
    environment_version: version,
  };
}

/** For whom a sandbox of a session asks, and what its environment names now. */
export async function holderOf(
  { sandboxes, environments }: Pick<WorkerOptions, 'sandboxes' | 'environments'>,
  sandboxId: string,
): Promise<Holder> {
  const { state } = await sandboxes.load(sandboxId);
  if (!state) throw new HangarError('not_found', `nobody knows the sandbox ${sandboxId}`);
  const { owner, environment, session_id } = state.request;
  const { recipe } = await loadRecipe(environments, owner, environment);
  return { asker: { owner, environment, session: session_id }, recipe };
}

/** One that ended while it was being started holds nothing yet: the next try makes it anew. */
async function clearStopped(driver: SandboxDriver, id: string, error: unknown): Promise<never> {
  if (!(error instanceof HangarError) || error.code !== 'conflict') throw error;
  await driver.destroy(id);
  throw new HangarError('unavailable', `the sandbox ended while it was started: ${error.message}`, {
    cause: error,
  });
}

function specOf(
  request: SandboxRequest,
  recipe: Recipe,
  harnessDirectory: string,
  mirror: string | null,
): SandboxSpec {
  const remote = request.repo ? localRemote(request.repo) : null;
  const { memory_mb, cpus, pids } = recipe.resources;
  return {
    id: request.sandbox_id,
    sessionId: request.session_id,
    cwd: request.cwd,
    envVars: { ...recipe.env, HANGAR_SESSION: request.session_id },
    network: recipe.network,
    mounts: [
      { source: harnessDirectory, target: HARNESS_ROOT, readOnly: true },
      ...(remote ? [{ source: remote, target: remote, readOnly: true }] : []),
      ...(mirror ? [{ source: mirror, target: MIRROR, readOnly: true }] : []),
      ...recipe.mounts.map((m) => ({
        source: m.source,
        target: m.target,
        readOnly: m.read_only,
      })),
    ],
    resources: {
      ...(memory_mb === undefined ? {} : { memoryMb: memory_mb }),
      ...(cpus === undefined ? {} : { cpus }),
      ...(pids === undefined ? {} : { pids }),
    },
    gitCredentials: recipe.git.length > 0,
  };
}

async function checkOut(
  { driver, credentials }: WorkerOptions,
  request: SandboxRequest,
  place: { ref: SandboxRef; cwd: string; mirror: string; hasFiles: boolean },
  progress: (phase: string, text: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { repo = '', base_branch = '', branch, purpose } = request;
  const { ref, cwd, mirror } = place;
  if (repo) await progress('cloning', `cloning ${withoutUserinfo(repo)}`);
  const files = place.hasFiles ? '' : 'no-files';
  const values = [repo, base_branch, branch, cwd, purpose, mirror, files];
  const argv = ['sh', '-c', CHECKOUT_SCRIPT, 'checkout', ...values];
  const done = await runCommand(driver, ref, {
    argv,
    timeoutMs: CLONE_MINUTES_MAX * 60_000,
    signal,
  });
  if (done.kind === 'exited' && done.code === 0) return;
  if (done.kind === 'exited' && done.code === 3)
    throw new StartFailure('cloning', `${withoutUserinfo(repo)} has no branch ${base_branch}`);
  if (done.kind === 'connection_lost' || done.kind === 'sandbox_gone')
    throw new HangarError('unavailable', 'the sandbox went away while cloning');
  const redact = createRedactor(await credentials.handed(ref.id));
  const text = redact(withoutUserinfo(done.output)).slice(-OUTPUT_CHARACTERS_MAX);
  const late = done.kind === 'timed_out' ? ` within ${CLONE_MINUTES_MAX} minutes` : '';
  throw new StartFailure('cloning', `the repository could not be cloned${late}: ${text}`);
}

async function setUp(
  { driver, credentials, revealSecrets }: WorkerOptions,
  request: SandboxRequest,
  recipe: Recipe,
  ref: SandboxRef,
  cwd: string,
  progress: (phase: string, text: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { owner, environment, session_id: session } = request;
  const asker = { owner, environment, session };
  const envVars = await secretsOf(revealSecrets, asker, recipe.secrets);
  const secrets = Object.entries(envVars).map(([name, value]) => ({ name, value }));
  for (const [index, command] of recipe.setup.entries()) {
    await progress('setup', `running setup ${index + 1} of ${recipe.setup.length}: ${command}`);
    const done = await runCommand(driver, ref, {
      argv: ['sh', '-c', command],
      cwd,
      envVars,
      timeoutMs: SETUP_MINUTES_MAX * 60_000,
      signal,
    });
    if (done.kind === 'exited' && done.code === 0) continue;
    const how = done.kind === 'exited' ? `exit code ${done.code}` : done.kind;
    // Redacted first: what is cut in two is not found any more [Z2].
    const redact = createRedactor([...secrets, ...(await credentials.handed(ref.id))]);
    const text = redact(done.output).slice(-OUTPUT_CHARACTERS_MAX);
    throw new StartFailure('setup', `setup command ${index + 1} failed (${how}): ${text}`);
  }
}

/** Also without set-up commands: a secret that is missing is told now, not in the first turn. */
async function secretsOf(
  revealSecrets: WorkerOptions['revealSecrets'],
  asker: CredentialAsker,
  names: string[],
): Promise<Record<string, string>> {
  try {
    return await revealSecrets(asker, names);
  } catch (error) {
    const failure = HangarError.from(error);
    if (failure.code !== 'conflict') throw error;
    throw new StartFailure('setup', inWords(failure));
  }
}
