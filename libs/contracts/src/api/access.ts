import { z } from 'zod';
import { SECRET_BYTES_MAX } from '../limits.ts';
import { formSchema, ownerSchema, scopeSchema, secretNameSchema, timeSchema } from './names.ts';

export const setSecretSchema = z
  .strictObject({
    name: secretNameSchema,
    value: z
      .string()
      .min(1)
      .refine((text) => new TextEncoder().encode(text).byteLength <= SECRET_BYTES_MAX, {
        message: `a secret has at most ${SECRET_BYTES_MAX} bytes`,
      }),
  })
  .meta({ id: 'SetSecret' });
export type SetSecret = z.infer<typeof setSecretSchema>;

/** Never the value: secrets are write-only [Z2]. */
export const secretDocumentSchema = z
  .object({ name: z.string(), version: z.int(), updated_at: timeSchema })
  .meta({ id: 'Secret' });
export type SecretDocument = z.infer<typeof secretDocumentSchema>;
export const secretListSchema = z.object({ items: z.array(secretDocumentSchema) });

/** A scope holds those below it: admin, write, read. The owner is the caller's when left out. */
export const createTokenSchema = z
  .strictObject({
    owner: ownerSchema.optional(),
    /** For people: what the token is for. */
    name: z.string().min(1).max(128),
    scope: scopeSchema,
    expires_at: timeSchema.optional(),
  })
  .meta({ id: 'CreateToken' });
export type CreateToken = z.output<typeof createTokenSchema>;
export type CreateTokenInput = z.input<typeof createTokenSchema>;

export const tokenDocumentSchema = z
  .object({
    id: z.string(),
    owner: z.string(),
    name: z.string(),
    scope: scopeSchema,
    created_at: timeSchema,
    expires_at: timeSchema.nullable(),
    revoked_at: timeSchema.nullable(),
  })
  .meta({ id: 'Token' });
export type TokenDocument = z.infer<typeof tokenDocumentSchema>;
export const tokenListSchema = z.object({ items: z.array(tokenDocumentSchema) });

/** `token` is the value itself: shown this once, kept as a hash [Z1]. */
export const createdTokenSchema = tokenDocumentSchema
  .extend({ token: z.string() })
  .meta({ id: 'CreatedToken' });
export type CreatedToken = z.infer<typeof createdTokenSchema>;

export const tokenIdSchema = formSchema(/^tok-[0-9a-f]{8}$/, 'use a token id (tok-...)');

/** Who the token of this call belongs to. */
export const whoSchema = z
  .object({ token_id: z.string(), owner: z.string(), scopes: z.array(scopeSchema) })
  .meta({ id: 'Who' });
export type Who = z.infer<typeof whoSchema>;
