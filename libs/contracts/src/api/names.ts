import { z } from 'zod';
import { SESSION_ID_PATTERN } from '../ids.ts';

/** Slugs are typed by people and stand in URLs, branches and paths; the length is a DNS label's. */
export const NAME_CHARACTERS_MAX = 63;
const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const SLUG_TEXT =
  'use 1 to 63 lower-case letters, digits and hyphens, with a letter or digit at both ends';

/** Text of a form. What a person reads is `message`, what a program reads is the pattern. */
export const formSchema = (pattern: RegExp, message: string): z.ZodString =>
  z
    .string()
    .refine((text) => pattern.test(text), { message })
    .meta({ pattern: pattern.source });

export const slugSchema = formSchema(SLUG, SLUG_TEXT);

/** Never looks like an id, so that one word can name a session in either way [S1]. */
export const sessionNameSchema = slugSchema.refine((name) => !SESSION_ID_PATTERN.test(name), {
  message: 'a name must not look like a session id',
});

export const environmentNameSchema = slugSchema;
export const harnessNameSchema = slugSchema;
/** Whose something is. No `_`, `.` or `@`: owners are part of the names of streams and subjects. */
export const ownerSchema = formSchema(
  /^[A-Za-z0-9][A-Za-z0-9-]{0,35}$/,
  'use letters, digits and hyphens, at most 36, with a letter or digit first',
);

/** Also a legal name of an environment variable: that is how a secret reaches a run. */
export const secretNameSchema = formSchema(
  /^[A-Za-z_][A-Za-z0-9_]{0,99}$/,
  'use 1 to 100 letters, digits and underscores, not starting with a digit',
).refine((name) => !/^HANGAR_|^(HOME|PATH|SHELL|USER|PWD)$/.test(name), {
  message: 'names that hangar sets itself (HANGAR_*, HOME, PATH, SHELL, USER, PWD) are taken',
});

/** A session by id or by name. */
export const sessionRefSchema = z.string().min(1).max(NAME_CHARACTERS_MAX);

export const SCOPES = ['read', 'write', 'admin'] as const;
export const scopeSchema = z.enum(SCOPES);
export type Scope = z.infer<typeof scopeSchema>;

export const textSchema = (charactersMax: number): z.ZodString => z.string().max(charactersMax);

/** What `git check-ref-format` allows of a branch, and no leading hyphen. */
export const branchSchema = z
  .string()
  .min(1)
  .max(200)
  .refine((name) => isBranchName(name), { message: 'this is not a name that git allows' });

function isBranchName(name: string): boolean {
  if (name === '@' || name.startsWith('-') || name.startsWith('/')) return false;
  if (/\.\.|@\{|\/\/|[\\ ~^:?*[]|\.$|\/$/.test(name)) return false;
  if (Array.from(name).some((letter) => letter < ' ' || letter === '\u007f')) return false;
  return name.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'));
}

const REPO_URL = /^(https?|ssh|git|file):\/\/[^\s]+$/;
const REPO_SCP = /^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^\s]+$/;
const REPO_PATH = /^\/[^\s]*$/;

/**
 * A URL, `user@host:path` or an absolute path. Credentials in a URL would end in
 * `.git/config`, so they are refused [R5]; so are git's remote helpers
 * (`ext::`), which run programs.
 */
export const repoSchema = z
  .string()
  .min(1)
  .max(1000)
  .refine((repo) => [REPO_URL, REPO_SCP, REPO_PATH].some((form) => form.test(repo)), {
    message: 'use a URL (https, ssh, git, file), user@host:path or an absolute path',
  })
  .refine((repo) => !/^(https?|git):\/\/[^/]*@|^ssh:\/\/[^/]*:[^/]*@/.test(repo), {
    message: 'leave user names and passwords out of the URL; set a secret instead',
  })
  .refine((repo) => repoDirectory(repo) !== null, {
    message: 'the last part of the path must be a plain directory name',
  });

/** The directory below /workspace that a repository is cloned into; null when it has no name. */
export function repoDirectory(repo: string): string | null {
  const path = repo.replace(/[?#].*$/, '').replace(/\/+$/, '');
  const name = (path.split(/[/:]/).at(-1) ?? '').replace(/\.git$/, '');
  return /^[A-Za-z0-9._-]{1,100}$/.test(name) && !/^\.\.?$/.test(name) ? name : null;
}

/** `/workspace/<repo>`, the same in every sandbox of the session [X2]. */
export const sessionCwd = (repo: string | null, sessionName: string): string =>
  `/workspace/${(repo === null ? null : repoDirectory(repo)) ?? sessionName}`;

export const sessionBranch = (sessionName: string): string => `hangar/session/${sessionName}`;

/** Times on the wire: RFC 3339 in UTC. */
export const timeSchema = z.iso.datetime({ offset: true });

/** In a query string; `wait` bounds how long an answer is held back for the outcome, in seconds. */
export const queryNumber = (min: number, max: number) =>
  formSchema(/^\d{1,9}$/, `use a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, {
      message: `use a whole number from ${min} to ${max}`,
    });
