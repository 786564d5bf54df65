import { setTimeout as delay } from 'node:timers/promises';
import { HangarError, type Recipe } from '@hangar/contracts';
import type {
  CredentialAnswer,
  CredentialRequest,
  SandboxDriver,
  SandboxRef,
} from '@hangar/sandbox-drivers';
import type {
  Credential,
  CredentialAsker,
  CredentialSource,
  HandedCredentials,
  KnownSecret,
} from '@hangar/service-kit';
import { HANDED_MAX } from '@hangar/service-kit';
import { judgeCredential, type CredentialStep } from './credential.policy.ts';

/** A connection that was lost is made again after this. */
const AGAIN_MS = 250;

/** Whose sandbox it is, and what its environment names now. */
export interface Holder {
  asker: CredentialAsker;
  recipe: Recipe;
}

/** Answers what processes of sandboxes ask for [R5]: to each what its own session may have [Z3]. */
export interface Credentials {
  /** Until the sandbox is gone; quiet when that is done already. The holder is read at each ask. */
  serve(ref: SandboxRef, holder: () => Promise<Holder>): void;
  /** What the sandbox was given, for hiding it in what is told of the sandbox [Z2]. */
  handed(sandboxId: string): Promise<KnownSecret[]>;
  /** The sandbox is gone, and what it was given is of no use to anybody. */
  forget(sandboxId: string): Promise<void>;
  /** Stops what runs and waits for it. */
  close(): Promise<void>;
}

export interface CredentialsOptions {
  driver: SandboxDriver;
  source: Pick<CredentialSource, 'get' | 'forget'>;
  handed: Pick<HandedCredentials, 'note' | 'list' | 'forget'>;
  /** Whoever tells of the sandbox's run knows of what was noted when this is over. */
  tellHanded(sandboxId: string): Promise<void>;
  /** Provider keys of hangar's own environment. */
  machineKeys: Readonly<Record<string, string>>;
  onError(error: unknown): void;
}

export function createCredentials(options: CredentialsOptions): Credentials {
  const { driver, onError } = options;
  const ending = new AbortController();
  const served = new Map<string, Promise<void>>();
  const follow = async (ref: SandboxRef, holder: () => Promise<Holder>): Promise<void> => {
    const known = new Set<string>();
    const answer = async (request: CredentialRequest): Promise<CredentialAnswer> => {
      const { answer: found, secret } = await answerRequest(options, request, holder);
      if (secret) await note(options, ref.id, known, secret);
      return found;
    };
    while (!ending.signal.aborted) {
      try {
        await driver.serveCredentials(ref, answer, ending.signal);
        // Also one that ended by itself: what it was given is of no use any more.
        if (!ending.signal.aborted) await options.handed.forget(ref.id);
        return;
      } catch (error) {
        if (ending.signal.aborted) return;
        // A sandbox that cannot be reached is not gone; one of an older hangar has nobody to ask.
        if (HangarError.from(error).code !== 'unavailable') return onError(error);
      }
      await delay(AGAIN_MS, null, { signal: ending.signal }).catch(() => undefined);
    }
  };
  return {
    serve: (ref, holder) => {
      const key = `${ref.id}/${ref.instance}`;
      if (served.has(key) || ending.signal.aborted) return;
      served.set(
        key,
        follow(ref, holder)
          .catch(onError)
          .finally(() => served.delete(key)),
      );
    },
    handed: (sandboxId) => options.handed.list(sandboxId),
    forget: (sandboxId) => options.handed.forget(sandboxId),
    close: async () => {
      ending.abort();
      await Promise.all(served.values());
    },
  };
}

/** Before it goes into the sandbox. `known` are the values that need no second look. */
async function note(
  { handed, tellHanded }: CredentialsOptions,
  sandboxId: string,
  known: Set<string>,
  secret: KnownSecret,
): Promise<void> {
  if (known.has(secret.value)) return;
  const noted = await handed.list(sandboxId);
  if (!noted.some(({ value }) => value === secret.value)) {
    await handed.note(sandboxId, secret);
    await tellHanded(sandboxId);
  }
  if (known.size >= HANDED_MAX) known.clear();
  known.add(secret.value);
}

interface Answered {
  answer: CredentialAnswer;
  /** The value that is in it. */
  secret?: KnownSecret;
}

async function answerRequest(
  { source, machineKeys }: CredentialsOptions,
  request: CredentialRequest,
  holder: () => Promise<Holder>,
): Promise<Answered> {
  const { asker, recipe } = await holder();
  const verdict = judgeCredential(request, recipe, Object.keys(machineKeys));
  if ('refused' in verdict) return { answer: verdict };
  const { step } = verdict;
  switch (step.type) {
    case 'machine':
      return whole(step.name, machineKeys[step.name] ?? '');
    case 'secret': {
      const { value } = await source.get(asker, { kind: 'secret', name: step.name });
      return whole(step.name, value);
    }
    case 'git': {
      const found = await source.get(asker, gitWish(step));
      const secret = { name: step.credential.secret, value: found.value };
      return { answer: gitAnswer(step, found), secret };
    }
    case 'refused':
      source.forget(asker, gitWish(step), step.value);
      return { answer: { output: '' } };
  }
}

const whole = (name: string, value: string): Answered => ({
  answer: { output: value },
  secret: { name, value },
});

type GitStep = Extract<CredentialStep, { type: 'git' | 'refused' }>;

const gitWish = ({ credential, path }: GitStep) => ({
  kind: 'git' as const,
  name: credential.secret,
  host: credential.host,
  path,
});

/** As git reads it: one line each, so that what holds a line break is no password. */
function gitAnswer({ credential }: GitStep, found: Credential): CredentialAnswer {
  const password = found.value.trim();
  if (/[\r\n]/.test(password))
    return { refused: `the secret ${credential.secret} has several lines: it is no password` };
  const seconds = found.expiresAt && Math.floor(found.expiresAt.getTime() / 1000);
  const lines = [
    `username=${found.username ?? credential.username}`,
    `password=${password}`,
    ...(seconds === null ? [] : [`password_expiry_utc=${seconds}`]),
  ];
  return { output: `${lines.join('\n')}\n` };
}
