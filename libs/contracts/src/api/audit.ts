import { z } from 'zod';
import { formSchema, ownerSchema, sessionRefSchema, timeSchema } from './names.ts';
import { pageOf, pageQueryFields } from './paging.ts';

const auditFilterFields = {
  session: sessionRefSchema.optional(),
  /** Whole, as events carry it: `token:tok-1a2b3c4d`, `service:sandboxes`. */
  actor: z.string().min(1).max(200).optional(),
  /** Name of an event. */
  type: formSchema(/^[A-Za-z]{1,100}$/, 'use the name of an event').optional(),
  since: timeSchema.optional(),
  until: timeSchema.optional(),
};

/** `jsonl`: everything from the cursor on, one event a line, without pages. */
export const auditQuerySchema = z.strictObject({
  ...pageQueryFields,
  ...auditFilterFields,
  /** Of another owner, or `*` for everybody: needs the scope admin. */
  owner: z.union([ownerSchema, z.literal('*')]).optional(),
  order: z.enum(['asc', 'desc']).optional(),
  format: z.enum(['json', 'jsonl']).optional(),
});
export type AuditQuery = z.output<typeof auditQuerySchema>;

/** An event as it stands in the log [L1]; the same shape comes over SSE. */
export const eventDocumentSchema = z
  .object({
    /** Opaque place in the feed that was asked: for `Last-Event-ID` and `cursor`. */
    cursor: z.string(),
    id: z.string(),
    type: z.string(),
    stream: z.string(),
    version: z.int(),
    schema: z.int(),
    session_id: z.string().nullable(),
    owner: z.string().nullable(),
    at: timeSchema,
    actor: z.string(),
    cause: z.string().nullable(),
    correlation: z.string(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event' });
export type EventDocument = z.infer<typeof eventDocumentSchema>;
export const eventPageSchema = pageOf(eventDocumentSchema);

export const verifyQuerySchema = z.strictObject({ session: sessionRefSchema.optional() });

export const verifyDocumentSchema = z
  .object({
    ok: z.boolean(),
    /** The first hundred; none means unharmed. */
    problems: z.array(
      z.object({
        stream: z.string(),
        version: z.int(),
        problem: z.enum(['changed', 'missing', 'added']),
      }),
    ),
  })
  .meta({ id: 'Verify' });
export type VerifyDocument = z.infer<typeof verifyDocumentSchema>;

export const eventsQuerySchema = z.strictObject({
  last_event_id: z.string().min(1).max(200).optional(),
});

export const replayQuerySchema = z.strictObject({
  session: sessionRefSchema,
  version: formSchema(/^[1-9]\d{0,8}$/, 'use a version of the session: 1, 2, 3 ...')
    .transform(Number)
    .optional(),
});
export type ReplayQuery = z.output<typeof replayQuerySchema>;
