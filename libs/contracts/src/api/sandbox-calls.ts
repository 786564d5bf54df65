import { z } from 'zod';
import { EXEC_SECONDS_DEFAULT, EXEC_SECONDS_MAX, EXEC_STDIN_BYTES_MAX } from '../limits.ts';
import { checkpointIdSchema } from './sessions.ts';
import { checkpointSchema } from './session-document.ts';
import { formSchema, timeSchema } from './names.ts';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export const execSchema = z
  .strictObject({
    argv: z.array(z.string().max(131_072)).min(1).max(1024),
    cwd: z.string().min(1).max(4096).optional(),
    stdin: z.string().max(EXEC_STDIN_BYTES_MAX).optional(),
    stdin_base64: formSchema(BASE64, 'this is not base64')
      .max(Math.ceil((EXEC_STDIN_BYTES_MAX * 4) / 3) + 4)
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
