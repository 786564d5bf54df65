import { resolve } from 'node:path';
import { z } from 'zod';

/** One kind of value: how it is read from text, and what a person is told is allowed. */
export interface SettingKind<T> {
  type: string;
  allowed: string;
  schema: z.ZodType<T, string>;
}

const MINUTES_MAX = 60 * 24 * 366;
export const VAULT_KEY_BYTES = 32;
/** More keys than rotations anybody still has blobs from; a bound on what is tried. */
export const VAULT_KEYS_MAX = 16;

export function integer(min: number, max: number): SettingKind<number> {
  const allowed = `a whole number from ${min} to ${max}`;
  const schema = z
    .string()
    .regex(/^\d{1,12}$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max);
  return { type: 'integer', allowed, schema };
}

export const minutes = (min: number): SettingKind<number> => integer(min, MINUTES_MAX);

export function oneOf<const Choice extends string>(...choices: Choice[]): SettingKind<Choice> {
  const allowed = `one of ${choices.join(', ')}`;
  const schema = z.string().transform((value, context) => {
    const choice = choices.find((each) => each === value);
    if (choice !== undefined) return choice;
    context.addIssue('not a choice');
    return z.NEVER;
  });
  return { type: 'choice', allowed, schema };
}

export const directory: SettingKind<string> = {
  type: 'directory',
  allowed: 'a directory, absolute or relative to where the service starts',
  schema: z
    .string()
    .regex(/^[^\0\n]+$/)
    .transform((path) => resolve(path)),
};

/** Run as it is, without a shell. */
export const program: SettingKind<string> = {
  type: 'program',
  allowed: 'the absolute path of a program',
  schema: z.string().regex(/^\/[^\0\n]+$/),
};

export function text(charactersMin: number, charactersMax: number): SettingKind<string> {
  return {
    type: 'text',
    allowed: `${charactersMin} to ${charactersMax} printable characters without spaces`,
    schema: z
      .string()
      .min(charactersMin)
      .max(charactersMax)
      .regex(/^[\x21-\x7e]+$/),
  };
}

export function url(...schemes: string[]): SettingKind<string> {
  const shown = schemes.map((scheme) => `${scheme}://`).join(' or ');
  return { type: 'url', allowed: `a URL that starts with ${shown}`, schema: urlSchema(schemes) };
}

/** NATS clients take several servers, and try them in turn. */
export function urlList(...schemes: string[]): SettingKind<string[]> {
  const { allowed } = url(...schemes);
  return {
    type: 'url list',
    allowed: `${allowed}, or several with commas between`,
    schema: z
      .string()
      .transform((list) => list.split(','))
      .pipe(z.array(urlSchema(schemes)).min(1).max(16)),
  };
}

function urlSchema(schemes: string[]): z.ZodType<string, string> {
  return z.string().refine((value) => {
    const parsed = URL.parse(value);
    if (parsed === null || /\s/.test(value)) return false;
    return schemes.some((scheme) => parsed.protocol === `${scheme}:`) && parsed.hostname !== '';
  });
}

export type BlobStoreSetting = { kind: 'fs'; directory: string } | { kind: 'memory' };

export const blobStore: SettingKind<BlobStoreSetting> = {
  type: 'blob store',
  allowed: 'fs:<directory>, or memory (which is lost when the process ends)',
  schema: z.string().transform((value, context): BlobStoreSetting => {
    if (value === 'memory') return { kind: 'memory' };
    if (/^fs:[^\0\n]+$/.test(value)) return { kind: 'fs', directory: resolve(value.slice(3)) };
    context.addIssue('not a store');
    return z.NEVER;
  }),
};

/** Vault keys, newest first; the newest seals, the others only open ([C4]). */
export const vaultKeys: SettingKind<Buffer[]> = {
  type: 'keys',
  allowed:
    `base64 of ${VAULT_KEY_BYTES} random bytes (openssl rand -base64 32), or up to ` +
    `${VAULT_KEYS_MAX} such keys with commas between, newest first, each once`,
  schema: z
    .string()
    .transform((list) => list.split(',').map((key) => key.trim()))
    .refine((keys) => keys.length <= VAULT_KEYS_MAX && new Set(keys).size === keys.length)
    .refine((keys) => keys.every((key) => /^[A-Za-z0-9+/]{43}=?$/.test(key)))
    .transform((keys) => keys.map((key) => Buffer.from(key, 'base64')))
    .refine((keys) => keys.every((key) => key.byteLength === VAULT_KEY_BYTES)),
};
