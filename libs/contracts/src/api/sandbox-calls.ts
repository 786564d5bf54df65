import { z } from 'zod';
import {
  EXEC_ARGUMENTS_MAX,
  EXEC_ARGUMENT_CHARACTERS_MAX,
  EXEC_SECONDS_DEFAULT,
  EXEC_SECONDS_MAX,
  EXEC_STDIN_BYTES_MAX,
} from '../limits.ts';
import { checkpointIdSchema } from './sessions.ts';
import { checkpointSchema } from './session-document.ts';
import { formSchema, timeSchema } from './names.ts';

/** Without groups of four, for which the engine would need a stack as long as the text. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const NOT_BASE64 = 'this is not base64';

const STDIN = { message: `stdin has at most ${EXEC_STDIN_BYTES_MAX} bytes` };

const base64Bytes = (text: string): number =>
  (text.length / 4) * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);

export const execSchema = z
  .strictObject({
    argv: z.array(z.string().max(EXEC_ARGUMENT_CHARACTERS_MAX)).min(1).max(EXEC_ARGUMENTS_MAX),
    cwd: z.string().min(1).max(4096).optional(),
    stdin: z
      .string()
      .refine((text) => new TextEncoder().encode(text).byteLength <= EXEC_STDIN_BYTES_MAX, STDIN)
      .optional(),
    stdin_base64: formSchema(BASE64, NOT_BASE64)
      .refine((text) => text.length % 4 === 0, { message: NOT_BASE64 })
      .refine((text) => base64Bytes(text) <= EXEC_STDIN_BYTES_MAX, STDIN)
      .optional(),
    timeout_seconds: z.int().min(1).max(EXEC_SECONDS_MAX).default(EXEC_SECONDS_DEFAULT),
  })
  .refine((body) => body.stdin === undefined || body.stdin_base64 === undefined, {
    message: 'give stdin or stdin_base64, not both',
  })
  .meta({ id: 'Exec' });
export type ExecBody = z.output<typeof execSchema>;
export type ExecInput = z.input<typeof execSchema>;

/**
 * Exactly one of `exit_code`, `signal` and `timed_out`. Output that is not UTF-8 comes as
 * `..._base64`; past the bound it is cut and `..._truncated` says so.
 */
export const execResultSchema = z
  .object({
    exit_code: z.int().optional(),
    signal: z.string().optional(),
    timed_out: z.literal(true).optional(),
    stdout: z.string().optional(),
    stdout_base64: z.string().optional(),
    stdout_truncated: z.boolean(),
    stderr: z.string().optional(),
    stderr_base64: z.string().optional(),
    stderr_truncated: z.boolean(),
  })
  .meta({ id: 'ExecResult' });
export type ExecResult = z.infer<typeof execResultSchema>;

export const changesQuerySchema = z.strictObject({ checkpoint: checkpointIdSchema.optional() });

/** The work against the base, read from the sandbox or, without one, from a checkpoint. */
export const changesSchema = z
  .object({
    source: z.enum(['sandbox', 'checkpoint']),
    /** When the checkpoint was taken, or now. */
    taken_at: timeSchema,
    base: z.string().nullable(),
    files: z.array(
      z.object({
        path: z.string(),
        /** added, modified, deleted or type_changed. */
        status: z.string(),
        /** committed, staged, unstaged or untracked. */
        area: z.string(),
        binary: z.boolean(),
        /** Unified; null when binary, or past the bounds of this view. */
        diff: z.string().nullable(),
      }),
    ),
    truncated: z.boolean().optional(),
  })
  .meta({ id: 'Changes' });
export type Changes = z.infer<typeof changesSchema>;

/** Newest last, as in the session. */
export const checkpointListSchema = z.object({ items: z.array(checkpointSchema) });
