import { z } from 'zod';
import { MESSAGE_ID_PATTERN, SESSION_PART_ID_PATTERN } from '../ids.ts';
import {
  ANSWER_CHARACTERS_MAX,
  COMMENTS_MAX,
  IDLE_MINUTES_MAX,
  MESSAGE_BYTES_MAX,
  TITLE_CHARACTERS_MAX,
} from '../limits.ts';
import {
  branchSchema,
  environmentNameSchema,
  formSchema,
  harnessNameSchema,
  repoSchema,
  sessionNameSchema,
  textSchema,
} from './names.ts';
import { permissionsSchema } from './live-work.ts';
import { pageQueryFields } from './paging.ts';
import { MESSAGE_MODES, sessionStateSchema } from './session-document.ts';

/** Bytes are counted as UTF-8; characters would let four times as much through. */
const messageSchema = z
  .string()
  .min(1, 'say something')
  .refine((text) => new TextEncoder().encode(text).byteLength <= MESSAGE_BYTES_MAX, {
    message: `a message has at most ${MESSAGE_BYTES_MAX} bytes; put long text into a file`,
  });

const idleMinutesSchema = z.int().min(0).max(IDLE_MINUTES_MAX);
const modelSchema = z.string().min(1).max(200);
const titleSchema = textSchema(TITLE_CHARACTERS_MAX);

export const createSessionSchema = z
  .strictObject({
    name: sessionNameSchema,
    environment: environmentNameSchema,
    harness: harnessNameSchema,
    model: modelSchema.optional(),
    repo: repoSchema.optional(),
    base_branch: branchSchema.optional(),
    branch: branchSchema.optional(),
    title: titleSchema.optional(),
    message: messageSchema.optional(),
    idle_minutes: idleMinutesSchema.optional(),
    permissions: permissionsSchema.optional(),
  })
  .meta({ id: 'CreateSession' });
export type CreateSession = z.infer<typeof createSessionSchema>;
export type CreateSessionInput = z.input<typeof createSessionSchema>;

/** Bodies of calls that need none; an empty body is the same. */
export const emptyBodySchema = z.strictObject({});

/** A comment on a line of a change; it reaches the agent as text of the message it goes with. */
export const lineCommentSchema = z
  .strictObject({
    path: z.string().min(1).max(4096),
    /** Counted from 1, in the file as it was (`old`) or as it is (`new`). */
    line: z.int().min(1).max(100_000_000),
    side: z.enum(['old', 'new']).default('new'),
    /** The line itself, so that the agent finds it when the file has changed since. */
    code: z.string().max(2000).default(''),
    text: z.string().min(1, 'say something').max(ANSWER_CHARACTERS_MAX),
  })
  .meta({ id: 'LineComment' });
export type LineComment = z.output<typeof lineCommentSchema>;

/** `message` may be left out where there are comments: they are a message by themselves. */
export const sendMessageSchema = z
  .strictObject({
    message: messageSchema.optional(),
    comments: z.array(lineCommentSchema).max(COMMENTS_MAX).default([]),
    mode: z.enum(MESSAGE_MODES).default('auto'),
  })
  .refine((body) => body.message !== undefined || body.comments.length > 0, {
    message: 'give a message, comments, or both',
  })
  .meta({ id: 'SendMessage' });
export type SendMessage = z.infer<typeof sendMessageSchema>;
export type SendMessageInput = z.input<typeof sendMessageSchema>;

/** `turn` is there when the message started one at once. */
export const messageReceiptSchema = z
  .object({
    message_id: z.string(),
    /** queued, delivered, taken_back or failed [M4]. */
    status: z.enum(['queued', 'delivered', 'taken_back', 'failed']),
    mode: z.string(),
    /**
     * What becomes of it [M3]: `turn` starts one now, `steer` was offered to the running one, `queue`
     * waits for its turn, `resume` waits for the sandbox; null when it is over.
     */
    becomes: z.enum(['turn', 'steer', 'queue', 'resume']).nullable(),
    turn: z.int().optional(),
  })
  .meta({ id: 'MessageReceipt' });
export type MessageReceipt = z.infer<typeof messageReceiptSchema>;

/** Without `model`, another harness chooses its own, and the same one keeps what it has. */
export const changeHarnessSchema = z
  .strictObject({ harness: harnessNameSchema.optional(), model: modelSchema.optional() })
  .refine((body) => body.harness !== undefined || body.model !== undefined, {
    message: 'give a harness, a model, or both',
  })
  .meta({ id: 'ChangeHarness' });
export type ChangeHarness = z.infer<typeof changeHarnessSchema>;

/** `force` destroys the sandbox even where the checkpoint is incomplete; audited [X3]. */
export const suspendSessionSchema = z
  .strictObject({ force: z.boolean().default(false) })
  .meta({ id: 'SuspendSession' });

/** 0: never suspended by itself. */
export const keepSessionSchema = z
  .strictObject({ idle_minutes: idleMinutesSchema })
  .meta({ id: 'KeepSession' });

export const renameSessionSchema = z
  .strictObject({ name: sessionNameSchema.optional(), title: titleSchema.optional() })
  .refine((body) => body.name !== undefined || body.title !== undefined, {
    message: 'give a name, a title, or both',
  })
  .meta({ id: 'RenameSession' });
export type RenameSession = z.infer<typeof renameSessionSchema>;

const booleanQuerySchema = z.enum(['true', 'false']).transform((text) => text === 'true');

export const deleteSessionQuerySchema = z.strictObject({ force: booleanQuerySchema.optional() });

export type DeleteSessionQuery = z.output<typeof deleteSessionQuerySchema>;

export const listSessionsQuerySchema = z.strictObject({
  ...pageQueryFields,
  state: sessionStateSchema.optional(),
  environment: environmentNameSchema.optional(),
  /** Part of the name, title, repo or branch. */
  q: z.string().min(1).max(200).optional(),
});
export type ListSessionsQuery = z.output<typeof listSessionsQuerySchema>;

export const messageIdSchema = formSchema(MESSAGE_ID_PATTERN, 'use a message id (msg-...)');
export const checkpointIdSchema = formSchema(
  SESSION_PART_ID_PATTERN,
  'use a checkpoint id (ckp-...)',
);
