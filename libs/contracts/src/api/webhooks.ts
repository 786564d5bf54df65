import { z } from 'zod';
import { WEBHOOK_DELIVERIES_SHOWN_MAX, WEBHOOK_URL_CHARACTERS_MAX } from '../limits.ts';
import { formSchema, slugSchema, timeSchema } from './names.ts';

export const webhookNameSchema = slugSchema;

/**
 * What a webhook can hear of. `attention` is `card.raised` and `card.cleared`; the others are sent
 * under their own name (docs/formats/webhooks.md).
 */
export const WEBHOOK_EVENTS = ['attention', 'turn.finished', 'session.failed'] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

const targetSchema = z
  .string()
  .min(1)
  .max(WEBHOOK_URL_CHARACTERS_MAX)
  .refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? '') && !/\s/.test(text), {
    message: 'use a URL that starts with https:// or http://',
  })
  .refine((text) => !URL.parse(text)?.username && !URL.parse(text)?.password, {
    message: 'leave user names and passwords out of the URL; check the signature instead',
  });

export const createWebhookSchema = z
  .strictObject({
    name: webhookNameSchema,
    url: targetSchema,
    events: z
      .array(z.enum(WEBHOOK_EVENTS))
      .min(1)
      .max(WEBHOOK_EVENTS.length)
      .refine((events) => new Set(events).size === events.length, { message: 'name each once' })
      .default(['attention']),
  })
  .meta({ id: 'CreateWebhook' });
export type CreateWebhook = z.output<typeof createWebhookSchema>;
export type CreateWebhookInput = z.input<typeof createWebhookSchema>;

export const webhookDocumentSchema = z
  .object({
    name: z.string(),
    /** Null: the vault key that sealed it is not there. */
    url: z.string().nullable(),
    events: z.array(z.enum(WEBHOOK_EVENTS)),
    /** `disabled`: the receiver answered 410, nothing is sent to it any more. */
    state: z.enum(['active', 'disabled']),
    disabled_at: timeSchema.nullable(),
    created_at: timeSchema,
  })
  .meta({ id: 'Webhook' });
export type WebhookDocument = z.infer<typeof webhookDocumentSchema>;
export const webhookListSchema = z.object({ items: z.array(webhookDocumentSchema) });

/** `secret` signs what is sent (`whsec_`, Standard Webhooks): shown this once [Z2]. */
export const createdWebhookSchema = webhookDocumentSchema
  .extend({ secret: z.string() })
  .meta({ id: 'CreatedWebhook' });
export type CreatedWebhook = z.infer<typeof createdWebhookSchema>;

/** `waiting` for its first or next try, or at it; `dead` after the last. */
export const DELIVERY_STATES = ['waiting', 'delivered', 'dead'] as const;
const deliveryStateSchema = z.enum(DELIVERY_STATES);

export const deliveryDocumentSchema = z
  .object({
    /** The header webhook-id, the same in every try. */
    id: z.string(),
    type: z.string(),
    state: deliveryStateSchema,
    /** Tries that were begun. */
    attempts: z.int(),
    /** HTTP status of the newest answer; null when there was none. */
    last_status: z.int().nullable(),
    last_error: z.string().nullable(),
    created_at: timeSchema,
    /** Not before then is the next try; null when there is none. */
    next_at: timeSchema.nullable(),
    ended_at: timeSchema.nullable(),
  })
  .meta({ id: 'WebhookDelivery' });
export type DeliveryDocument = z.infer<typeof deliveryDocumentSchema>;

export const webhookQuerySchema = z.strictObject({
  /** Of the deliveries in the answer; all when left out. */
  state: deliveryStateSchema.optional(),
});
export type WebhookQuery = z.output<typeof webhookQuerySchema>;

export const webhookDetailsSchema = webhookDocumentSchema
  .extend({
    /** The newest first. */
    deliveries: z.array(deliveryDocumentSchema).max(WEBHOOK_DELIVERIES_SHOWN_MAX),
  })
  .meta({ id: 'WebhookDetails' });
export type WebhookDetails = z.infer<typeof webhookDetailsSchema>;

export const redeliverWebhookSchema = z
  .strictObject({
    delivery: formSchema(/^dlv-[0-9a-f]{16}$/, 'use the id of a delivery (dlv-...)'),
  })
  .meta({ id: 'RedeliverWebhook' });
export type RedeliverWebhook = z.infer<typeof redeliverWebhookSchema>;

interface SentSession {
  session_id: string;
  session_name: string;
  owner: string;
}
interface SentCard {
  card: { id: string; kind: string; text: string; choices: string[]; since: string };
  /** Where a question or a decision is answered; null for cards that take no answer. */
  answer_path: string | null;
}

/** What is sent, as JSON. */
export type WebhookPayload = { timestamp: string } & (
  | { type: 'card.raised'; data: SentSession & SentCard }
  | { type: 'card.cleared'; data: SentSession & SentCard & { reason: string } }
  | {
      type: 'turn.finished';
      data: SentSession & { turn: number; outcome: string; summary: string; error: string | null };
    }
  | { type: 'session.failed'; data: SentSession & { phase: string; reason: string } }
  | { type: 'webhook.test'; data: { webhook: string; owner: string } }
);
