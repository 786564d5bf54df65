import { z } from 'zod';
import { IDLE_MINUTES_MAX, TURN_MINUTES_MAX } from '../limits.ts';
import {
  branchSchema,
  environmentNameSchema,
  formSchema,
  harnessNameSchema,
  repoSchema,
  secretNameSchema,
  timeSchema,
} from './names.ts';

export const SETUP_COMMANDS_MAX = 64;
export const SETUP_COMMAND_CHARACTERS_MAX = 16_384;
export const ENV_VARS_MAX = 256;
export const ENV_VAR_CHARACTERS_MAX = 32_768;
export const MOUNTS_MAX = 16;
export const ENVIRONMENT_SECRETS_MAX = 128;
export const GIT_CREDENTIALS_MAX = 32;

/** Taken inside a sandbox by hangar or the system: no mount at, over or below one of these. */
const RESERVED_TARGETS = ['/workspace', '/home', '/root', '/run', '/proc', '/sys', '/dev', '/tmp'];

const within = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);

const absolutePathSchema = z
  .string()
  .max(4096)
  .refine((path) => isPlainPath(path), {
    message: 'use an absolute path without "..", "." and doubled or trailing slashes',
  });

function isPlainPath(path: string): boolean {
  if (path === '/') return true;
  if (!path.startsWith('/') || path.includes('\0')) return false;
  return path
    .slice(1)
    .split('/')
    .every((part) => part !== '' && part !== '.' && part !== '..');
}

export const mountSchema = z.strictObject({
  /** A directory or file of the machine that makes the sandboxes. */
  source: absolutePathSchema,
  target: absolutePathSchema.refine(
    (path) => !RESERVED_TARGETS.some((taken) => within(path, taken) || within(taken, path)),
    { message: `not at, over or below ${RESERVED_TARGETS.join(', ')}` },
  ),
  read_only: z.boolean().default(true),
});

export const resourcesSchema = z.strictObject({
  memory_mb: z.int().min(64).max(1_048_576).optional(),
  cpus: z.number().min(0.1).max(256).optional(),
  pids: z.int().min(16).max(1_000_000).optional(),
});

/**
 * Which secret opens which repositories of a git server, over https [R5]. The value is asked for by
 * git's credential helper when git needs it, and is in no variable, file or URL.
 */
export const gitCredentialSchema = z.strictObject({
  host: formSchema(
    /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[1-9]\d{0,4})?$/,
    'use a host name in lower case, with its port where that is not 443: github.com',
  ),
  /** Whole parts from the left: `acme` is every repository of acme. The longest that fits counts. */
  path: formSchema(
    /^(?!(?:.*\/)?\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+){0,15}$/,
    'use the first parts of the path of a URL, without a slash at either end: acme/app',
  ).optional(),
  username: formSchema(/^[^\s\0]{1,200}$/, 'use 1 to 200 characters without spaces').default(
    'x-access-token',
  ),
  secret: secretNameSchema,
});
export type GitCredential = z.output<typeof gitCredentialSchema>;

/**
 * The recipe that sandboxes are made from [X1]. Strict: an unknown key is a mistake, not a wish.
 * Minutes and megabytes are whole numbers; the last two bound parts of checkpoints.
 */
export const recipeSchema = z.strictObject({
  name: environmentNameSchema,
  image: z.string().min(1).max(500).optional(),
  /** Allowed ones; all that are installed when left out. */
  harnesses: z.array(harnessNameSchema).min(1).max(16).optional(),
  /** Shell commands, in order, before the first turn. */
  setup: z
    .array(z.string().min(1).max(SETUP_COMMAND_CHARACTERS_MAX))
    .max(SETUP_COMMANDS_MAX)
    .default([]),
  env: z
    .record(secretNameSchema, z.string().max(ENV_VAR_CHARACTERS_MAX))
    .refine((record) => Object.keys(record).length <= ENV_VARS_MAX, {
      message: `at most ${ENV_VARS_MAX} variables`,
    })
    .default({}),
  /** Names only; the values are set apart and injected per run [Z2]. */
  secrets: z.array(secretNameSchema).max(ENVIRONMENT_SECRETS_MAX).default([]),
  git: z.array(gitCredentialSchema).max(GIT_CREDENTIALS_MAX).default([]),
  mounts: z.array(mountSchema).max(MOUNTS_MAX).default([]),
  network: z.enum(['open', 'none']).default('open'),
  resources: resourcesSchema.default({}),
  repo: repoSchema.optional(),
  base_branch: branchSchema.optional(),
  /** 0: never suspended by itself. */
  idle_minutes: z.int().min(0).max(IDLE_MINUTES_MAX).optional(),
  turn_minutes: z.int().min(1).max(TURN_MINUTES_MAX).optional(),
  retention: z.literal('git').default('git'),
  session_max_part_mb: z.int().min(1).max(100_000).optional(),
  session_max_untracked_mb: z.int().min(0).max(100_000).optional(),
});
export type Recipe = z.output<typeof recipeSchema>;
/** As people write it: what has a default may be left out. */
export type RecipeInput = z.input<typeof recipeSchema>;

/** For PUT, where the path already names it. */
export const recipeBodySchema = recipeSchema.partial({ name: true });

export const environmentDocumentSchema = z
  .object({
    name: z.string(),
    owner: z.string(),
    /** Counts the changes of the recipe; the same recipe again keeps its version. */
    version: z.int(),
    recipe: recipeSchema,
    created_at: timeSchema,
    updated_at: timeSchema,
  })
  .meta({ id: 'Environment' });
export type EnvironmentDocument = z.infer<typeof environmentDocumentSchema>;
